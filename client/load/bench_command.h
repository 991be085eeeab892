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
  ClientOptions client = {};          // its deadline applies to classes without a deadline
  RequestClass request = {};          // default values for the classes of `mix`
  std::vector<std::string> mix = {};  // classes (see ParseMix); empty: only `request`
  WorkloadOptions workload = {};

  // Kind of load: a rate, a sweep, a search or a trace. If none of these is set, the load is a closed loop.
  std::optional<double> rate = {};       // requests per second, above 0; lowest rate of a search
  std::optional<SweepRange> sweep = {};  // range of a sweep or search
  bool find_max = false;                 // search within `sweep`, or from `rate` upwards
  std::string trace = {};
  ArrivalProcess process = ArrivalProcess::kPoisson;

  LoadSettings load = {};                       // without `arrivals` and `trace`, which RunBench sets
  std::optional<absl::Duration> duration = {};  // default: the whole trace; no limit with load.max_requests; else 10 s
  std::optional<absl::Duration> warm_up = {};   // default: 2 s; none for a trace
  int connections = 4;
  Goal goal = {};               // goal of a search; needs bounds or a deadline
  bool deadline_given = false;  // true: the user set client.deadline
  double tolerance = 0.05;      // precision of a search, relative to the rate
  int repeats = 3;              // number of samples at the rate that a search found; most of them must meet the goal
  double stability = 0.15;      // tolerance of the stability check (see stability.h)

  std::vector<Gate> gates = {};  // bounds on the measures of LoadGateMeasures; a search applies them to its best rate

  Format format = Format::kTable;
  std::string out = {};  // folder for load.json, load.html, percentiles and seconds; empty: none

  bool IsClosed() const;
};

// Returns INVALID_ARGUMENT if settings are incompatible; the message states what to change.
absl::Status ValidateBench(const BenchCommand& command);

enum class BenchOutcome { kMeasured, kNothing, kMissed, kInterrupted };

// Connects, sends one request of each of the first 16 classes, runs the load and reports. Once `stopped` returns true,
// ends the run and reports the results so far. `live`: redraws the progress, for a terminal; else prints it every 15 s.
//
// kNothing: no request was answered, no rate met the goal of a search, or a search could not be finished. kMissed: a
// gate was missed; `errors` names it. Returns an error if the run could not start: no server, an unknown model, an
// image that the server rejects, or a folder that cannot be made. Also returns an error if the files in the folder
// cannot be written; `out` then has the results.
absl::StatusOr<BenchOutcome> RunBench(const BenchCommand& command, std::ostream& out, std::ostream& errors, bool live,
                                      const std::function<bool()>& stopped);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_BENCH_COMMAND_H_
