// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_format.h"
#include "client/load/load_report.h"

namespace vitrine {

std::string RateSamples::InWords() const {
  const auto ms = [](const std::optional<double>& value) { return value ? absl::StrFormat("%.1f", *value) : "inf"; };
  return absl::StrFormat("measured %d time%s there: %d meet%s the goal, p99 %s to %s ms, goodput %.1f to %.1f/s", taken,
                         taken == 1 ? "" : "s", met, met == 1 ? "s" : "", ms(least_p99_ms), ms(most_p99_ms),
                         least_goodput, most_goodput);
}

RateSamples SamplesOf(const std::vector<LoadPoint>& points, double rate) {
  RateSamples samples;
  for (const LoadPoint& point : points) {
    if (point.offered != rate || point.result.interrupted) continue;
    const LoadRecord& record = point.result.record;
    const double goodput = record.GoodPerSecond();
    const std::optional<int64_t> p99 = record.QuantileOfDue(0.99);
    const std::optional<double> ms = p99 ? std::optional(static_cast<double>(*p99) / 1e6) : std::nullopt;
    const auto at_least = [](const auto& a, const auto& b) { return b && (!a || *b < *a) ? b : a; };
    samples.least_goodput = samples.taken == 0 ? goodput : std::min(samples.least_goodput, goodput);
    samples.most_goodput = std::max(samples.most_goodput, goodput);
    samples.least_p99_ms = at_least(samples.least_p99_ms, ms);
    if (samples.taken == 0 || !ms || (samples.most_p99_ms && *ms > *samples.most_p99_ms)) samples.most_p99_ms = ms;
    ++samples.taken;
    samples.met += point.missed == "";
  }
  return samples;
}

}  // namespace vitrine
