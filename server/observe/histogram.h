// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_HISTOGRAM_H_
#define VITRINE_SERVER_OBSERVE_HISTOGRAM_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

// What a histogram holds, or the sum of several with equal bounds.
struct HistogramTotals {
  std::span<const double> bounds = {};
  std::vector<uint64_t> counts = {};  // per bucket, not cumulative; the last one is above every bound
  double sum = 0;
};

// Counts of values per bucket. Any number of writers and readers, without a lock: an observation is a relaxed addition
// and, for the sum, one compare-and-swap or more. (prometheus-cpp's histogram locks a mutex for each observation.)
class Histogram {
 public:
  // `bounds` are the inclusive upper limits of the buckets, rising; they must outlive the histogram and its totals.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Observe(double value);
  // A concurrent observation is seen whole or in part.
  void AddTo(HistogramTotals& totals) const;
  HistogramTotals Totals() const {
    HistogramTotals totals;
    AddTo(totals);
    return totals;
  }

 private:
  const std::span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_HISTOGRAM_H_
