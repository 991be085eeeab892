// SPDX-License-Identifier: Apache-2.0
#include "client/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

constexpr int64_t kHighest = (int64_t{1} << 41) - 1;
constexpr int kRowsPerHalving = 5;

// Returns the rank of a quantile among `count` ascending values, counted from 1.
uint64_t RankOf(double quantile, uint64_t count) {
  // Subtracts 1e-6, because rounding may make the product of quantile and count slightly larger than an exact integer.
  const double rank = std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count) - 1e-6);
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::max(0.0, rank)), 1, count);
}

}  // namespace

// Each value below 2^bits has its own bucket. A larger value has `shift` more bits, and keeps only its upper `bits`
// bits. The first of these bits is always 1, so each further power of two has half as many buckets.
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

template <typename Visit>
void LatencyHistogram::ForEachBucket(Visit visit) const {
  for (const auto& [index, count] : used_) visit(static_cast<size_t>(index), static_cast<uint64_t>(count));
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) visit(i, counts_[i]);
  }
}

void LatencyHistogram::Compress() {
  if (!used_.empty() || count_ == 0 || count_ > UINT32_MAX) return;
  size_t buckets = 0;
  ForEachBucket([&](size_t, uint64_t) { ++buckets; });
  used_.reserve(buckets);
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) used_.emplace_back(static_cast<uint32_t>(i), static_cast<uint32_t>(counts_[i]));
  }
  std::vector<uint64_t>().swap(counts_);
}

void LatencyHistogram::Expand() {
  if (used_.empty()) return;
  counts_.resize(used_.back().first + 1);
  for (const auto& [index, count] : used_) counts_[index] = count;
  std::vector<std::pair<uint32_t, uint32_t>>().swap(used_);
}

void LatencyHistogram::Record(int64_t nanoseconds) {
  Expand();
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
  Expand();
  const size_t needed = other.used_.empty() ? other.counts_.size() : other.used_.back().first + 1;
  if (needed > counts_.size()) counts_.resize(needed);
  other.ForEachBucket([this](size_t index, uint64_t count) { counts_[index] += count; });
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
  ForEachBucket([&](size_t index, uint64_t count) {
    const double middle = 0.5 * static_cast<double>(FirstValueOf(index) + LastValueOf(index));
    squares += static_cast<double>(count) * (middle - mean) * (middle - mean);
  });
  return std::sqrt(squares / static_cast<double>(count_));
}

int64_t LatencyHistogram::Quantile(double quantile) const {
  return count_ == 0 ? 0 : ValueOfRank(RankOf(quantile, count_));
}

std::optional<int64_t> LatencyHistogram::QuantileAmong(double quantile, uint64_t all) const {
  if (all == 0) return std::nullopt;
  const uint64_t rank = RankOf(quantile, all);
  if (rank > count_) return std::nullopt;
  return ValueOfRank(rank);
}

int64_t LatencyHistogram::ValueOfRank(uint64_t rank) const {
  if (rank == count_) return max_;
  uint64_t seen = 0;
  std::optional<size_t> found;
  ForEachBucket([&](size_t index, uint64_t count) {
    seen += count;
    if (!found.has_value() && seen >= rank) found = index;
  });
  return found.has_value() ? std::min(LastValueOf(*found), max_) : max_;
}

uint64_t LatencyHistogram::CountAbove(int64_t nanoseconds) const {
  uint64_t above = 0;
  ForEachBucket([&](size_t index, uint64_t count) { above += FirstValueOf(index) > nanoseconds ? count : 0; });
  return above;
}

std::string LatencyHistogram::PercentileTable() const {
  std::string table =
      absl::StrFormat("%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  uint64_t seen = 0;
  double next = 0;  // quantile of the next row
  const auto row = [&](int64_t value, double quantile) {
    const double shown = Milliseconds(static_cast<double>(std::min(value, max_)));
    absl::StrAppendFormat(&table, "%12.3f %1.12f %10u", shown, quantile, seen);
    if (quantile < 1) absl::StrAppendFormat(&table, " %14.2f", 1 / (1 - quantile));
    table += '\n';
  };
  ForEachBucket([&](size_t index, uint64_t count) {
    seen += count;
    const double share = static_cast<double>(seen) / static_cast<double>(count_);
    while (next <= share && seen < count_) {
      row(LastValueOf(index), next);
      const double halvings = std::floor(std::log2(1 / (1 - next))) + 1;
      next += std::exp2(-halvings) / kRowsPerHalving;
    }
  });
  if (count_ > 0) row(max_, 1);
  absl::StrAppendFormat(&table, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", Milliseconds(Mean()),
                        Milliseconds(Deviation()));
  absl::StrAppendFormat(&table, "#[Max     = %12.3f, Total count    = %12u]\n", Milliseconds(static_cast<double>(max_)),
                        count_);
  absl::StrAppendFormat(&table, "#[Buckets = %12d, SubBuckets     = %12d]\n", 42 - bits_, 1 << bits_);
  return table;
}

}  // namespace vitrine
