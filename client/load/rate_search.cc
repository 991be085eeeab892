// SPDX-License-Identifier: Apache-2.0
#include "client/load/rate_search.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace vitrine {
namespace {

constexpr int kGeometricSteps = 8;
constexpr double kHighestRateTaken = 1e7;
constexpr double kMostRates = 1000;

absl::Status NoBound(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrFormat("\"%s\" is no bound of the latency; give for instance p99=50ms or p50=10ms,p99.9=100ms", text));
}

bool ParseRate(absl::string_view text, double* rate) {
  return absl::SimpleAtod(text, rate) && *rate > 0 && *rate <= kHighestRateTaken;
}

}  // namespace

absl::StatusOr<std::vector<LatencyBound>> ParseLatencyBounds(absl::string_view text) {
  std::vector<LatencyBound> bounds;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    double percent = 0;
    LatencyBound bound;
    if (pair.first.substr(0, 1) != "p" || !absl::SimpleAtod(pair.first.substr(1), &percent) || !(percent > 0) ||
        percent > 100 || !absl::ParseDuration(pair.second, &bound.most) || bound.most <= absl::ZeroDuration()) {
      return NoBound(text);
    }
    bound.quantile = percent / 100;
    bounds.push_back(bound);
  }
  return bounds;
}

std::string OverloadText(const LoadRecord& record, const Stability& stability, double least) {
  // The number of requests in flight differs by chance between the two ends of the interval.
  const double under_way = record.DuePerSecond() * record.latency().Mean() / 1e9;
  const double by_chance = (1 + 3 * std::sqrt(under_way)) / std::max(1e-9, record.interval().Seconds());
  if (record.AnsweredPerSecond() + by_chance < least * record.DuePerSecond()) {
    return absl::StrFormat("only %.1f/s were answered: the queue grows", record.AnsweredPerSecond());
  }
  return stability.growing ? absl::StrCat("the queue grows: ", stability.reason) : "";
}

std::string MissedGoal(const LoadRecord& record, const Stability& stability, const Goal& goal) {
  if (record.due() == 0) return "no request was due";
  if (record.answered() == 0) return "no request was answered";
  const double good = static_cast<double>(record.good()) / static_cast<double>(record.due());
  if (good < goal.least_good) {
    return absl::StrFormat("%.1f %% were answered within their deadline", 100 * good);
  }
  for (const LatencyBound& bound : goal.bounds) {
    const std::optional<int64_t> reached = record.QuantileOfDue(bound.quantile);
    if (!reached.has_value()) {
      return absl::StrFormat("more than %.4g %% have no answer, so p%g has no bound", 100 * (1 - bound.quantile),
                             100 * bound.quantile);
    }
    if (absl::Nanoseconds(*reached) > bound.most) {
      return absl::StrFormat("p%g is %.1f ms", 100 * bound.quantile, static_cast<double>(*reached) / 1e6);
    }
  }
  return OverloadText(record, stability, std::min(0.99, goal.least_good));
}

std::vector<double> SweepRange::Rates() const {
  std::vector<double> rates;
  for (double rate = low; rate<high*(1 - 1e-9); rate = step> 0 ? rate + step : rate * factor) rates.push_back(rate);
  rates.push_back(high);
  return rates;
}

absl::StatusOr<SweepRange> ParseSweepRange(absl::string_view text) {
  const absl::Status wrong =
      absl::InvalidArgumentError(absl::StrFormat("\"%s\" is no sweep; give LOW:HIGH, LOW:HIGH:STEP or LOW:HIGH:xFACTOR "
                                                 "in requests per second, with at most 1000 rates",
                                                 text));
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  SweepRange range;
  if (parts.size() < 2 || parts.size() > 3 || !ParseRate(parts[0], &range.low) || !ParseRate(parts[1], &range.high) ||
      range.low > range.high) {
    return wrong;
  }
  range.factor = std::pow(range.high / range.low, 1.0 / (kGeometricSteps - 1));
  if (parts.size() == 3 && parts[2].substr(0, 1) == "x") {
    if (!absl::SimpleAtod(parts[2].substr(1), &range.factor) || !(range.factor > 1)) return wrong;
  } else if (parts.size() == 3 && !ParseRate(parts[2], &range.step)) {
    return wrong;
  }
  const double rates = range.step > 0 ? (range.high - range.low) / range.step
                                      : std::log(range.high / range.low) / std::max(1e-12, std::log(range.factor));
  if (range.low < range.high && !(rates <= kMostRates)) return wrong;
  return range;
}

void RateSearch::Record(double rate, bool met) {
  if (met) {
    met_ = std::max(rate, met_.value_or(rate));
  } else {
    missed_ = std::min(rate, missed_.value_or(rate));
  }
  next_.reset();
  // The search ends if the lowest rate missed the goal or the highest rate met it.
  if (!met_.has_value() || (!missed_.has_value() && *met_ >= high_)) return;
  if (!missed_.has_value()) {
    next_ = std::min(high_, 2 * *met_);
  } else if (*missed_ > *met_ * (1 + tolerance_)) {
    next_ = std::sqrt(*met_ * *missed_);
  }
}

}  // namespace vitrine
