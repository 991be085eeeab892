// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_HISTOGRAM_H_
#define VITRINE_SERVER_OBSERVE_HISTOGRAM_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

// Content of a histogram, or the sum of several histograms with equal bounds.
struct HistogramTotals {
  std::span<const double> bounds = {};
  std::vector<uint64_t> counts = {};  // per bucket, not cumulative; the last bucket has no upper bound
  double sum = 0;
};

// Counts values per bucket. Lock-free for any number of writers and readers: an observation takes a relaxed addition
// and, for the sum, at least one compare-and-swap. (prometheus-cpp's histogram locks a mutex for each observation.)
class Histogram {
 public:
  // `bounds` are the inclusive upper limits of the buckets, in rising order; they must outlive the histogram and its
  // totals.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Observe(double value);
  // Adds the content to `totals`. An observation that runs at the same time may be included only partly.
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
