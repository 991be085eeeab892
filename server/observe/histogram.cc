// SPDX-License-Identifier: Apache-2.0
#include "server/observe/histogram.h"

#include <algorithm>

namespace vitrine {

void Histogram::Observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::AddTo(HistogramTotals& totals) const {
  totals.bounds = bounds_;
  totals.counts.resize(counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i) totals.counts[i] += counts_[i].load(std::memory_order_relaxed);
  totals.sum += sum_.load(std::memory_order_relaxed);
}

}  // namespace vitrine
