#include "client/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

constexpr int64_t kHighest = (int64_t{1} << 41) - 1;
constexpr int kRowsPerHalving = 5;

double Milliseconds(double nanoseconds) {
  return nanoseconds / 1e6;
}

}  // namespace

// Values below 2^bits stand for themselves. Above, a value with `shift` more bits keeps its upper `bits` ones, of which
// the first is 1: half as many buckets.
size_t LatencyHistogram::IndexOf(int64_t value) const {
  const auto bits = static_cast<uint64_t>(value);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - bits_);
  return (static_cast<size_t>(shift) << (bits_ - 1)) + (bits >> shift);
}

int64_t LatencyHistogram::FirstValueOf(size_t index) const {
  if (index < size_t{1} << bits_) return static_cast<int64_t>(index);
  const size_t half = size_t{1} << (bits_ - 1);
  const size_t shift = index / half - 1;
  return static_cast<int64_t>((index - shift * half) << shift);
}

int64_t LatencyHistogram::LastValueOf(size_t index) const {
  return FirstValueOf(index + 1) - 1;
}

void LatencyHistogram::Record(int64_t nanoseconds) {
  const int64_t value = std::max<int64_t>(0, nanoseconds);
  const size_t index = IndexOf(std::min(value, kHighest));
  if (index >= counts_.size()) counts_.resize(index + 1);
  ++counts_[index];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
  ++count_;
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

double LatencyHistogram::Mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

double LatencyHistogram::Deviation() const {
  if (count_ == 0) return 0;
  const double mean = Mean();
  double squares = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const double middle = 0.5 * static_cast<double>(FirstValueOf(i) + LastValueOf(i));
    squares += static_cast<double>(counts_[i]) * (middle - mean) * (middle - mean);
  }
  return std::sqrt(squares / static_cast<double>(count_));
}

int64_t LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  // The product of a quantile such as 0.999 and a count may lie just above the whole number that is meant.
  const double rank = std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_) - 1e-6);
  const auto wanted = std::clamp<uint64_t>(static_cast<uint64_t>(std::max(0.0, rank)), 1, count_);
  if (wanted == count_) return max_;
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::min(LastValueOf(i), max_);
  }
  return max_;
}

std::string LatencyHistogram::PercentileTable() const {
  std::string table =
      absl::StrFormat("%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  uint64_t seen = 0;
  double next = 0;  // the quantile of the next row
  const auto row = [&](int64_t value, double quantile) {
    const double shown = Milliseconds(static_cast<double>(std::min(value, max_)));
    absl::StrAppendFormat(&table, "%12.3f %1.12f %10u", shown, quantile, seen);
    if (quantile < 1) absl::StrAppendFormat(&table, " %14.2f", 1 / (1 - quantile));
    table += '\n';
  };
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    seen += counts_[i];
    const double share = static_cast<double>(seen) / static_cast<double>(count_);
    while (next <= share && seen < count_) {
      row(LastValueOf(i), next);
      const double halvings = std::floor(std::log2(1 / (1 - next))) + 1;
      next += std::exp2(-halvings) / kRowsPerHalving;
    }
  }
  if (count_ > 0) row(max_, 1);
  absl::StrAppendFormat(&table, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", Milliseconds(Mean()),
                        Milliseconds(Deviation()));
  absl::StrAppendFormat(&table, "#[Max     = %12.3f, Total count    = %12u]\n", Milliseconds(static_cast<double>(max_)),
                        count_);
  absl::StrAppendFormat(&table, "#[Buckets = %12d, SubBuckets     = %12d]\n", 42 - bits_, 1 << bits_);
  return table;
}

}  // namespace vitrine
