// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_BENCH_COMMAND_H_
#define VITRINE_CLIENT_LOAD_BENCH_COMMAND_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/commands/classify_command.h"
#include "client/commands/gate.h"
#include "client/load/load_report.h"
#include "client/load/rate_search.h"
#include "client/load/workload/workload.h"

namespace vitrine {

// Arguments of `vitrine bench`.
struct BenchCommand {
  ClientOptions client = {};          // its deadline applies to classes that set none
  RequestClass request = {};          // model, resolution, priority and images of classes that set none
  std::vector<std::string> mix = {};  // classes, see ParseMix; empty: only `request`
  WorkloadOptions workload = {};

  // One of: a rate, a sweep, a search, a trace; if none is set, a closed loop.
  std::optional<double> rate = {};       // requests per second, above 0; lowest rate of a search
  std::optional<SweepRange> sweep = {};  // range of a sweep or search
  bool find_max = false;                 // search within `sweep`, or from `rate` upwards
  std::string trace = {};
  ArrivalProcess process = ArrivalProcess::kPoisson;

  LoadSettings load = {};                       // except `arrivals` and `trace`
  std::optional<absl::Duration> duration = {};  // default 10 s; or the whole trace, or load.max_requests
  std::optional<absl::Duration> warm_up = {};   // default 2 s; none for a trace
  int connections = 4;
  Goal goal = {};               // goal of a search; without bounds a deadline must be given
  bool deadline_given = false;  // client.deadline was set by the user
  double tolerance = 0.05;      // resolution of a search, relative to the rate
  int repeats = 3;              // samples of the rate found by a search; most of them must meet the goal
  double stability = 0.15;      // tolerance of the stability check, see stability.h

  std::vector<Gate> gates = {};  // over LoadGateMeasures; applied to the best rate of a search

  Format format = Format::kTable;
  std::string out = {};  // folder for load.json, load.html, percentiles and seconds; empty: none

  bool IsClosed() const;
};

// INVALID_ARGUMENT: incompatible settings; the message states what to change.
absl::Status ValidateBench(const BenchCommand& command);

enum class BenchOutcome { kMeasured, kNothing, kMissed, kInterrupted };

// Connects, requests one answer of every class, runs the load and reports. `stopped` ends the run with the results so
// far. `live`: `errors` is a terminal and shows the progress.
// Returns kNothing if no request was answered, no rate met the goal of a search, or a search could not be finished;
// kMissed if a gate was missed, which `errors` names. Returns an error if the run could not start: no server, an
// unknown model, an image that the server rejects.
absl::StatusOr<BenchOutcome> RunBench(const BenchCommand& command, std::ostream& out, std::ostream& errors, bool live,
                                      const std::function<bool()>& stopped);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_BENCH_COMMAND_H_
