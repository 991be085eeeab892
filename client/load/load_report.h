// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_REPORT_H_
#define VITRINE_CLIENT_LOAD_LOAD_REPORT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "client/gate.h"
#include "client/load/load.h"
#include "client/load/stability.h"

namespace vitrine {

// What all points of a report have in common.
struct LoadSetting {
  std::string server = {};   // address
  std::string loop = {};     // "open loop, Poisson arrivals", "closed loop, 16 at a time", "trace day.csv"
  std::string load = {};     // "model a, 12 pictures of 110,000 bytes"
  std::string started = {};  // RFC 3339
  std::vector<std::string> classes = {};
  LoadMode mode = LoadMode::kUnary;
  bool closed = false;
  int connections = 1;
  int threads = 1;
  double warm_up_seconds = 0;
  int server_process = 0;
  std::string goal = {};  // of a search: "p99 <= 50 ms, 99 % within their deadline"
};

// One measured rate.
struct LoadPoint {
  double offered = 0;  // requests a second as asked for; 0: a closed loop or a trace
  LoadResult result;
  Stability stability = {};
  std::optional<std::string> missed = {};  // of a goal: why it was missed, or "" where it was met
};

// A rate of a search that was measured several times.
struct RateSamples {
  int taken = 0;
  int met = 0;                                                // those that met the goal
  double least_goodput = 0, most_goodput = 0;                 // a second
  std::optional<double> least_p99_ms = {}, most_p99_ms = {};  // of all due; nullopt: so many have no answer

  // Whether so many samples say already that most of `wanted` met the goal, or that they did not.
  bool Decides(int wanted) const { return taken >= wanted || 2 * (taken - met) >= wanted; }
  bool MostMet() const { return 2 * met > taken; }
  // "measured 3 times there: 3 meet the goal, p99 38.1 to 44.0 ms, goodput 118.2 to 119.9/s"
  std::string InWords() const;
};
// Of the points at that rate, those that were interrupted left out.
RateSamples SamplesOf(const std::vector<LoadPoint>& points, double rate);

struct LoadReport {
  LoadSetting setting = {};
  std::vector<LoadPoint> points = {};       // in the order they were measured
  std::string verdict = {};                 // of a sweep or search, a sentence
  bool complete = true;                     // false: interrupted
  std::optional<double> best = {};          // the highest rate that met the goal
  std::optional<RateSamples> samples = {};  // of that rate
  std::vector<GateResult> gates = {};       // of --require
};

// Why the point says as much about the generator as about the server; empty: it does not. What the generator adds only
// makes latencies longer, so that a goal that is met stands.
std::string PointVoid(const LoadPoint& point);

// What a table says beside a point: void, interrupted, met or what was missed, not stable.
std::string PointVerdict(const LoadPoint& point);

// That answers fall behind what is due although in the end all come, as a long deadline lets them; empty: they do not.
std::string Overload(const LoadSetting& setting, const LoadPoint& point);

// "unary", "stream"
std::string ModeName(LoadMode mode);

// "3.1 %": of the latency, the generator's own.
std::string SlipShareText(const LoadResult& result);

// The percentiles that reports name: p50 p90 p95 p99 p99.9 p99.99, and their numbers.
struct NamedQuantile {
  const char* name;
  double quantile;
};
extern const std::vector<NamedQuantile> kReportedQuantiles;

// "RESOURCE_EXHAUSTED"; also of the codes of load_record.h
std::string GrpcCodeName(int code);

// For programs: docs/how-to/load-testing.md lists the members.
nlohmann::ordered_json PointJson(const LoadSetting& setting, const LoadPoint& point);
nlohmann::ordered_json ReportJson(const LoadReport& report);

// For people: everything about one point; a line of a table for each of several.
std::string PointText(const LoadSetting& setting, const LoadPoint& point);
std::string PointsTable(const LoadReport& report);

// The seconds of a point as CSV, with a header.
std::string TimelineCsv(const LoadPoint& point);

// A page in one file: the report with its plots.
std::string LoadPage(const LoadReport& report);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_REPORT_H_
