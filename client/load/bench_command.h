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
#include "client/classify_command.h"
#include "client/gate.h"
#include "client/load/load_report.h"
#include "client/load/rate_search.h"
#include "client/load/workload.h"

namespace vitrine {

// What `vitrine bench` was asked to do.
struct BenchCommand {
  ClientOptions client = {};          // its deadline is that of requests whose class names none
  RequestClass request = {};          // model, resolution, priority and pictures of every class that names none
  std::vector<std::string> mix = {};  // classes, see ParseMix; empty: `request` alone
  WorkloadOptions workload = {};

  // One of: a rate, a sweep, a search, a trace; none of them: a closed loop.
  std::optional<double> rate = {};  // requests a second, above 0; of a search its lowest
  std::optional<SweepRange> sweep = {};
  bool find_max = false;  // within `sweep`, or from `rate` upwards
  std::string trace = {};
  ArrivalProcess process = ArrivalProcess::kPoisson;

  LoadSettings load = {};                       // but for `arrivals` and `trace`
  std::optional<absl::Duration> duration = {};  // without it 10 s; or all of the trace, or of load.max_requests
  std::optional<absl::Duration> warm_up = {};   // without it 2 s; of a trace none
  int connections = 4;
  Goal goal = {};               // of a search; without bounds a deadline must be given
  bool deadline_given = false;  // client.deadline is a wish and no default
  double precision = 0.05;      // of a search: how close it comes, relative to the rate
  int repeats = 3;              // of a search: samples of the rate that it found, of which most must meet the goal
  double tolerance = 0.15;      // of the stability: see stability.h

  std::vector<Gate> gates = {};  // of LoadGateMeasures; of a search about the highest rate that meets the goal

  Format format = Format::kTable;
  std::string out = {};  // folder for load.json, load.html, percentiles and seconds; empty: none

  bool IsClosed() const;
};

// INVALID_ARGUMENT: settings that do not fit each other, with what to change.
absl::Status ValidateBench(const BenchCommand& command);

enum class BenchOutcome { kMeasured, kNothing, kMissed, kInterrupted };

// Connects, asks for one answer of every class, puts the load on the server and reports. `stopped` ends the run with
// what was measured so far. `live` says that `errors` is a terminal, which shows the progress.
// Returns kNothing where no request was answered, no rate met the goal of a search, or a search could not be finished;
// kMissed where a gate was missed, which `errors` names.
// An error says why nothing could be begun: no server, a model that it does not have, a picture that it refuses.
absl::StatusOr<BenchOutcome> RunBench(const BenchCommand& command, std::ostream& out, std::ostream& errors, bool live,
                                      const std::function<bool()>& stopped);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_BENCH_COMMAND_H_
