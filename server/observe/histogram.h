// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_HISTOGRAM_H_
#define VITRINE_SERVER_OBSERVE_HISTOGRAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

// The sum of several histograms with equal bounds.
struct HistogramTotals {
  std::vector<uint64_t> counts;  // per bucket, not cumulative; the last one is above every bound
  double sum = 0;
};

// Counts of values per bucket. One writer, any number of readers, no lock and no read-modify-write: the writer only
// loads and stores its own cache lines. (prometheus-cpp's histogram locks a mutex for each observation.)
class Histogram {
 public:
  // `bounds` are the inclusive upper limits of the buckets, rising; they must outlive the histogram.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Observe(double value);                 // only one thread at a time
  void AddTo(HistogramTotals& totals) const;  // any thread; a concurrent observation is seen whole or in part
  std::span<const double> bounds() const { return bounds_; }

 protected:
  size_t BucketOf(double value) const;

  const std::span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

// The same for any number of writers, at the price of two atomic additions.
class SharedHistogram : public Histogram {
 public:
  using Histogram::Histogram;
  void Observe(double value);  // any thread
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_HISTOGRAM_H_
