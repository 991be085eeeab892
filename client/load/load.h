// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_H_
#define VITRINE_CLIENT_LOAD_LOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/load/connections.h"
#include "client/load/load_record.h"
#include "client/load/workload/arrivals.h"
#include "client/load/workload/workload.h"

namespace vitrine {

// "p99=50ms": maximum latency for this share of the requests that were due.
struct LatencyBound {
  double quantile = 0.99;
  absl::Duration most = absl::InfiniteDuration();
};

// gRPC method of the requests.
enum class LoadMode {
  kUnary,   // one Classify call per request
  kStream,  // all requests of a connection on one ClassifyStream
};

// Settings of a load.
struct LoadSettings {
  LoadMode mode = LoadMode::kUnary;
  // Returns the schedule of an open loop, once per thread; null: a closed loop.
  std::function<std::unique_ptr<Arrivals>()> arrivals = {};
  bool trace = false;    // true: arrivals name their requests; false: drawn from the workload
  int concurrency = 16;  // requests in flight in a closed loop
  absl::Duration warm_up = absl::Seconds(2);
  absl::Duration duration = absl::Seconds(10);  // length of the measured interval
  uint64_t max_requests = 0;                    // ends the measured interval earlier; 0: no bound
  // Maximum requests without an answer; each costs the client about 10 KB. Further requests are counted as not sent.
  int max_outstanding = 8192;
  // Maximum wait for answers after the last request.
  absl::Duration patience = absl::Seconds(30);
  // Number of receiver threads. Each has its share of the connections, and in an open loop a sender thread.
  int threads = 1;
  uint64_t seed = 1;
  bool allow_empty = false;  // true: accepts answers without predictions, as from a server with a null model
  int server_process = 0;    // process id whose processor time is measured; 0: none
  // Latency bounds; they also limit how late the generator may send.
  std::vector<LatencyBound> bounds = {};
};

// Progress of a running load.
struct LoadProgress {
  double seconds = 0;                        // since the start
  double due = 0, answered = 0, failed = 0;  // requests in the last second
  double p50_ms = 0, p99_ms = 0;             // latency of the answers in that second
  int64_t outstanding = 0;
};

struct LoadHooks {
  std::function<bool()> stopped = [] { return false; };         // called often, from several threads
  std::function<void(const LoadProgress&)> progress = nullptr;  // called about once per second of the measured interval
};

struct LoadResult {
  LoadRecord record;
  bool interrupted = false;
  // Processor time of the generator (this process) and the server during the measured interval.
  double generator_seconds = 0;
  double server_seconds = 0;
  // Share of the measured interval in which the busiest receiver thread ran or waited for a processor.
  double receiver_share = 0;
  std::vector<LatencyBound> bounds = {};  // copied from the settings

  double GeneratorShare() const;                 // share of one core
  double SlipShare() const;                      // mean send delay divided by mean latency
  double ServerShare() const;                    // share of one core
  double GeneratorMicrosecondsARequest() const;  // 0 without a request
  double RequestsPerProcessorSecond() const;     // requests that one core could send and receive; 0 without a request
  // Returns why latencies and rates reflect the generator as much as the server; "" if they do not. There are two
  // causes:
  // - Late sends, because latency counts from the due time. At a bound's quantile the delay is above a tenth of the
  //   bound (without bounds: of the p99 of all due requests) and above a millisecond, for at least three requests.
  // - A receiver thread that is busy for more than 90 % of the time, so that answers wait for it.
  // Both causes only increase latencies (see InvalidReason in load_report.h).
  std::string VoidReason() const;
};

// Runs the load on the server of `connections`. Returns the record once every answer has arrived or `patience` has
// passed. Blocks; only reads `workload` and `connections`. Requires at least as many connections as threads, and at
// least one request in the workload.
LoadResult RunLoad(const LoadConnections& connections, const Workload& workload, const LoadSettings& settings,
                   const LoadHooks& hooks);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_H_
