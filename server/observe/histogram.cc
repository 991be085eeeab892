// SPDX-License-Identifier: Apache-2.0
#include "server/observe/histogram.h"

#include <algorithm>

namespace vitrine {

size_t Histogram::BucketOf(double value) const {
  return std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
}

void Histogram::Observe(double value) {
  const size_t bucket = BucketOf(value);
  counts_[bucket].store(counts_[bucket].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  sum_.store(sum_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

void SharedHistogram::Observe(double value) {
  counts_[BucketOf(value)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::AddTo(HistogramTotals& totals) const {
  totals.counts.resize(counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i) totals.counts[i] += counts_[i].load(std::memory_order_relaxed);
  totals.sum += sum_.load(std::memory_order_relaxed);
}

}  // namespace vitrine
