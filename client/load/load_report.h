// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_REPORT_H_
#define VITRINE_CLIENT_LOAD_LOAD_REPORT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/commands/gate.h"
#include "client/load/load.h"
#include "client/load/stability.h"

namespace vitrine {

// Settings common to all points of a report.
struct LoadSetting {
  std::string server = {};   // address
  std::string loop = {};     // "open loop, Poisson arrivals", "closed loop, 16 at a time", "trace day.csv"
  std::string load = {};     // "model a, 12 images of 110,000 bytes"
  std::string started = {};  // start time, RFC 3339
  std::vector<std::string> classes = {};
  LoadMode mode = LoadMode::kUnary;
  bool closed = false;
  int connections = 1;
  int threads = 1;
  double warm_up_seconds = 0;
  int server_process = 0;
  std::string goal = {};  // goal of a search: "p99 <= 50 ms, 99 % within their deadline"
};

// Measurement of one rate, of the closed loop or of the trace.
struct LoadPoint {
  double offered = 0;  // requested rate per second; 0: a closed loop or a trace
  LoadResult result;
  Stability stability = {};
  std::optional<std::string> missed = {};  // why the goal was missed; "" if it was met; nullopt without a goal
};

// Repeated measurements of one rate in a search.
struct RateSamples {
  int taken = 0;
  int met = 0;                                                // samples that met the goal
  double least_goodput = 0, most_goodput = 0;                 // per second
  std::optional<double> least_p99_ms = {}, most_p99_ms = {};  // over all due requests; nullopt: too many have no answer

  // Returns true if `wanted` samples were taken, or if at least half of `wanted` samples missed the goal.
  bool Decides(int wanted) const { return taken >= wanted || 2 * (taken - met) >= wanted; }
  bool MostMet() const { return 2 * met > taken; }
  // Describes the samples: "measured 3 times there: 3 meet the goal, p99 38.1 to 44.0 ms, goodput 118.2 to 119.9/s".
  std::string InWords() const;
};
// Returns the samples of the points measured at `rate`, without interrupted points.
RateSamples SamplesOf(const std::vector<LoadPoint>& points, double rate);

struct LoadReport {
  LoadSetting setting = {};
  std::vector<LoadPoint> points = {};       // in the order of measurement
  std::string verdict = {};                 // result of a sweep or search in words
  bool complete = true;                     // false: interrupted
  std::optional<double> best = {};          // highest rate that met the goal
  std::optional<RateSamples> samples = {};  // samples at the rate `best`
  std::vector<GateResult> gates = {};       // results of --require
};

// Returns the reason why the point depends on the load generator as much as on the server; empty: there is no such
// reason. A point that met its goal is always valid, because the generator can only increase latencies.
std::string InvalidReason(const LoadPoint& point);

// Returns the remark about a point in a table, for example "void", "interrupted", or the bound that the point missed.
std::string PointVerdict(const LoadPoint& point);

// Returns a sentence if the server falls behind the schedule, but almost all answers arrive in the end because the
// deadline is long; else "".
std::string Overload(const LoadSetting& setting, const LoadPoint& point);

// Returns "unary" or "stream".
std::string ModeName(LoadMode mode);

// Returns the share of the latency that the generator causes: "3.1 %".
std::string SlipShareText(const LoadResult& result);

// Name and quantile of the reported percentiles: p50 p90 p95 p99 p99.9 p99.99.
struct NamedQuantile {
  const char* name;
  double quantile;
};
extern const std::vector<NamedQuantile> kReportedQuantiles;

// Returns the name of a gRPC code ("RESOURCE_EXHAUSTED") or of a code of load_record.h.
std::string GrpcCodeName(int code);

// Return the JSON reports. docs/how-to/load-testing.md lists their members.
nlohmann::ordered_json PointJson(const LoadSetting& setting, const LoadPoint& point);
nlohmann::ordered_json ReportJson(const LoadReport& report);

// Return text reports: PointText has all results of one point, PointsTable has a line per point.
std::string PointText(const LoadSetting& setting, const LoadPoint& point);
std::string PointsTable(const LoadReport& report);

// Returns a point's counts and latencies for each second, as CSV with a header.
std::string TimelineCsv(const LoadPoint& point);

// Returns the report with its plots as one HTML file.
std::string LoadPage(const LoadReport& report);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_REPORT_H_
