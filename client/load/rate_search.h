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

// Bounds by commas: "p50=10ms,p99=50ms". INVALID_ARGUMENT: not of that form.
absl::StatusOr<std::vector<LatencyBound>> ParseLatencyBounds(absl::string_view text);

// What a rate must do to count as served.
struct Goal {
  std::vector<LatencyBound> bounds = {};
  double least_good = 0.99;  // share of the requests due that must be answered within their deadline
};

// How answers fall behind what is due, so that the queue grows; empty: they do not. `least` is the share of the rate
// due that must be answered meanwhile.
std::string FallsBehind(const LoadRecord& record, const Stability& stability, double least = 0.99);

// Why a load missed the goal; empty: it met it. Bounds hold for all requests that were due: one without an answer is
// longer than any. A load whose answers fall behind what is due misses every goal: its queue grows, and no run is long
// enough to see where to. Says nothing about the generator: see PointVoid in load_report.h.
std::string MissedGoal(const LoadRecord& record, const Stability& stability, const Goal& goal);

// Rates of a sweep.
struct SweepRange {
  double low = 0, high = 0;  // requests a second, above 0
  double step = 0;           // added each time; 0: `factor` instead
  double factor = 0;         // multiplied each time, above 1

  std::vector<double> Rates() const;  // rising; the last is `high`
};

// "LOW:HIGH", in eight geometric steps, "LOW:HIGH:STEP" or "LOW:HIGH:xFACTOR". At most 1000 rates.
absl::StatusOr<SweepRange> ParseSweepRange(absl::string_view text);

// Looks for the highest rate that meets a goal: doubles until one misses it, then halves the interval between the
// highest that met it and the lowest that did not, until these are within `precision` of each other. A pure policy:
// ask Next, measure, tell Record.
class RateSearch {
 public:
  // Requires 0 < low <= high and precision > 0.
  RateSearch(double low, double high, double precision) : next_(low), high_(high), precision_(precision) {}

  std::optional<double> Next() const { return next_; }  // nullopt: found
  void Record(double rate, bool met);
  std::optional<double> best() const { return met_; }  // highest that met the goal, if any did

 private:
  std::optional<double> next_;
  const double high_;
  const double precision_;
  std::optional<double> met_;     // highest
  std::optional<double> missed_;  // lowest
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_RATE_SEARCH_H_
