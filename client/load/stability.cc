// SPDX-License-Identifier: Apache-2.0
#include "client/load/stability.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

constexpr size_t kWindows = 5;
constexpr size_t kFewestWindows = 3;
constexpr uint64_t kFewestAnswers = 20;
constexpr uint64_t kFewestForP99 = 200;
constexpr double kSmallestDifferenceMs = 0.2;
constexpr double kGrowth = 1.5;  // growth of p50 from the first to the last window

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Describes the first value whose distance from the median exceeds `allowed`; "" if none does.
template <typename Allowed>
std::string Differing(const char* what, const char* unit, const std::vector<double>& values, Allowed allowed) {
  const double median = Median(values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i] - median) <= allowed(median)) continue;
    return absl::StrFormat("%s is %.4g%s in window %d of %d; the median of the windows is %.4g%s", what, values[i],
                           unit, i + 1, values.size(), median, unit);
  }
  return "";
}

std::vector<LoadRecord::Second> Windows(const LoadRecord& record, size_t seconds_each, size_t count) {
  std::vector<LoadRecord::Second> windows(count);
  for (size_t i = 0; i < seconds_each * count && i < record.seconds().size(); ++i) {
    windows[i / seconds_each].Add(record.seconds()[i]);
  }
  return windows;
}

}  // namespace

Stability JudgeStability(const LoadRecord& record, double tolerance) {
  const auto seconds = static_cast<size_t>(record.interval().Seconds());
  const size_t count = seconds >= kWindows ? kWindows : kFewestWindows;
  if (seconds < count) return {Stability::Verdict::kUnknown, "less than 3 s were measured"};
  const size_t each = seconds / count;
  const std::vector<LoadRecord::Second> windows = Windows(record, each, count);
  std::vector<double> rates, p50, p99;
  uint64_t fewest = UINT64_MAX;
  for (const LoadRecord::Second& window : windows) {
    rates.push_back(static_cast<double>(window.answered) / static_cast<double>(each));
    p50.push_back(static_cast<double>(window.latency.Quantile(0.5)) / 1e6);
    p99.push_back(static_cast<double>(window.latency.Quantile(0.99)) / 1e6);
    fewest = std::min(fewest, window.answered);
  }
  std::string difference = Differing("the rate", "/s", rates, [&](double median) {
    return tolerance * median + 3 * std::sqrt(std::max(1.0, median / static_cast<double>(each)));
  });
  if (difference.empty() && fewest < kFewestAnswers) {
    return {Stability::Verdict::kUnknown, absl::StrFormat("a window of %d s has only %d answers", each, fewest)};
  }
  if (difference.empty()) {
    difference =
        Differing("p50", " ms", p50, [&](double median) { return tolerance * median + kSmallestDifferenceMs; });
  }
  if (difference.empty() && fewest >= kFewestForP99) {
    difference =
        Differing("p99", " ms", p99, [&](double median) { return 3 * (tolerance * median + kSmallestDifferenceMs); });
  }
  if (difference.empty()) return {Stability::Verdict::kStable, ""};
  const bool rises = std::adjacent_find(p50.begin(), p50.end(), std::greater_equal<>()) == p50.end();
  return {Stability::Verdict::kNotStable, difference,
          rises && p50.back() > kGrowth * p50.front() + kSmallestDifferenceMs};
}

}  // namespace vitrine
