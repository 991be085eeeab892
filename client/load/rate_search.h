// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_RATE_SEARCH_H_
#define VITRINE_CLIENT_LOAD_RATE_SEARCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/load/load.h"
#include "client/load/stability.h"

namespace vitrine {

// Parses bounds separated by commas: "p50=10ms,p99=50ms". INVALID_ARGUMENT: wrong syntax.
absl::StatusOr<std::vector<LatencyBound>> ParseLatencyBounds(absl::string_view text);

// Condition that a rate must meet in a search.
struct Goal {
  std::vector<LatencyBound> bounds = {};
  double least_good = 0.99;  // share of the due requests that must be answered within their deadline
};

// Describes how answers fall behind the schedule, so that the queue grows; empty: they do not fall behind. `least` is
// the minimum rate of answers, as a share of the due rate.
std::string OverloadText(const LoadRecord& record, const Stability& stability, double least = 0.99);

// Returns the reason why a load missed the goal; empty: the load met it. Bounds apply to all due requests: a missing
// answer counts as longer than any bound. A load whose answers fall behind misses every goal, because its queue would
// grow in a longer run. Ignores the load generator's own delays (see InvalidReason in load_report.h).
std::string MissedGoal(const LoadRecord& record, const Stability& stability, const Goal& goal);

// Rates of a sweep.
struct SweepRange {
  double low = 0, high = 0;  // requests per second, above 0
  double step = 0;           // increment; 0: use `factor`
  double factor = 0;         // multiplier, above 1

  std::vector<double> Rates() const;  // ascending; the last is `high`
};

// Parses "LOW:HIGH" (eight rates in geometric steps), "LOW:HIGH:STEP" or "LOW:HIGH:xFACTOR". At most 1000 rates.
absl::StatusOr<SweepRange> ParseSweepRange(absl::string_view text);

// Searches for the highest rate that meets a goal. Doubles the rate, up to `high`, until a rate misses the goal. Then
// bisects between the highest rate that met the goal and the lowest rate that missed it, until their ratio is at most
// 1 + `tolerance`. The class measures nothing: the caller measures the rate Next() and passes the result to Record.
class RateSearch {
 public:
  // Requires 0 < low <= high and tolerance > 0.
  RateSearch(double low, double high, double tolerance) : next_(low), high_(high), tolerance_(tolerance) {}

  std::optional<double> Next() const { return next_; }  // next rate to measure; nullopt: the search is finished
  void Record(double rate, bool met);
  std::optional<double> best() const { return met_; }  // highest rate that met the goal; nullopt: none did

 private:
  std::optional<double> next_;
  const double high_;
  const double tolerance_;
  std::optional<double> met_;     // highest rate that met the goal
  std::optional<double> missed_;  // lowest rate that missed the goal
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_RATE_SEARCH_H_
