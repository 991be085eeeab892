// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LATENCY_HISTOGRAM_H_
#define VITRINE_CLIENT_LOAD_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vitrine {

// Converts to milliseconds, the unit of reports.
inline double Milliseconds(double nanoseconds) {
  return nanoseconds / 1e6;
}

// Counts of durations in log-linear buckets, as in HdrHistogram (hdrhistogram.org). Every power of two is divided into
// equal parts, so that values of any size have a fixed number of significant digits. Recording takes a few
// instructions. It allocates memory only for a value larger than all earlier values, and after Compress. Histograms of
// equal precision can be added.
//
// Durations are in nanoseconds, from 0 to about 36 minutes. Longer durations count as 36 minutes, but `max` is exact.
// Not thread-safe.
class LatencyHistogram {
 public:
  enum class Precision {
    kTwoDigits = 8,     // within 0.8 %; about 25 KB for values up to a second
    kThreeDigits = 11,  // within 0.1 %; about 170 KB for values up to a second
  };

  explicit LatencyHistogram(Precision precision = Precision::kThreeDigits) : bits_(static_cast<int>(precision)) {}

  void Record(int64_t nanoseconds);  // a negative value counts as 0
  // Adds the values of `other`. Requires the same precision.
  void Add(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  int64_t max() const { return max_; }
  double Mean() const;       // mean of the exact values
  double Deviation() const;  // standard deviation of the bucket midpoints

  // Returns the smallest value v such that at least the share `quantile` (0 to 1) of all values is at most v. The
  // result is rounded up to the end of its bucket, but is at most `max`. Returns 0 without values.
  int64_t Quantile(double quantile) const;
  // Returns a quantile among `all` values: the recorded values, and others that count as longer than every recorded
  // value. nullopt: the quantile is a value that was not recorded. Requires all >= count().
  std::optional<int64_t> QuantileAmong(double quantile, uint64_t all) const;
  // Returns the number of values above `nanoseconds`, to the precision of a bucket.
  uint64_t CountAbove(int64_t nanoseconds) const;

  // Reduces the memory to 8 bytes per used bucket until the next value is recorded.
  void Compress();

  // Returns the percentile table for HdrHistogram's plotters (.hgrm). Values are in milliseconds, with 5 rows for each
  // halving of the distance to 100 %.
  std::string PercentileTable() const;

 private:
  size_t IndexOf(int64_t value) const;
  int64_t LastValueOf(size_t index) const;
  int64_t FirstValueOf(size_t index) const;

  template <typename Visit>
  void ForEachBucket(Visit visit) const;  // visit(index, count) by ascending index, count > 0
  int64_t ValueOfRank(uint64_t rank) const;
  void Expand();

  int bits_;  // 2^bits_ buckets for values below 2^bits_, and half as many for each further power of two
  std::vector<uint64_t> counts_;
  std::vector<std::pair<uint32_t, uint32_t>> used_;  // while compressed: indices and counts, instead of counts_
  uint64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LATENCY_HISTOGRAM_H_
