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

// Maximum latency of a share of the due requests, such as "p99=50ms".
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
  // Returns the schedule of an open loop; called once per thread. null: a closed loop.
  std::function<std::unique_ptr<Arrivals>()> arrivals = {};
  bool trace = false;    // true: each arrival names its request; false: requests are drawn from the workload
  int concurrency = 16;  // requests in flight in a closed loop
  absl::Duration warm_up = absl::Seconds(2);
  absl::Duration duration = absl::Seconds(10);  // length of the measured interval
  uint64_t max_requests = 0;  // number of requests after which the measured interval ends early; 0: no limit
  // Maximum number of requests without an answer. Each such request takes about 10 KB of the client's memory. Further
  // requests are counted as not sent.
  int max_outstanding = 8192;
  // Maximum wait for answers after the last request.
  absl::Duration patience = absl::Seconds(30);
  // Number of receiver threads. Each has its share of the connections and, in an open loop, its own sender thread.
  int threads = 1;
  uint64_t seed = 1;
  bool allow_empty = false;  // true: accept answers without predictions, such as those of bench_null_server
  int server_process = 0;    // process id whose processor time is measured; 0: none
  // Latency bounds. They also limit how late the load generator may send.
  std::vector<LatencyBound> bounds = {};
};

// Maximum duration of a warm-up, of a measurement and of a trace.
inline constexpr absl::Duration kLongestLoad = absl::Hours(7 * 24);

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
  // Share of the measured interval in which the busiest receiver thread ran or was runnable but waiting for a CPU.
  double receiver_share = 0;
  std::vector<LatencyBound> bounds = {};  // copied from the settings

  double GeneratorShare() const;                 // processor time of the generator, as a share of one core
  double SlipShare() const;                      // mean send delay divided by mean latency
  double ServerShare() const;                    // processor time of the server, as a share of one core
  double GeneratorMicrosecondsARequest() const;  // processor time of the generator; 0 without a request
  double RequestsPerProcessorSecond() const;     // requests that one core could send and receive; 0 without a request
  // Returns the reason why latencies and rates depend on the load generator as much as on the server; "" if they do
  // not. There are two reasons:
  // - Requests were sent late, and their latency counts from the due time. The send delay at a bound's quantile exceeds
  //   a limit, and so do the delays of at least three requests. The limit is a tenth of the bound, but at least 1 ms.
  //   Without bounds, the p99 latency of all due requests is used as the bound.
  // - A receiver thread was busy for more than 90 % of the time, so that answers waited for it.
  // Both effects can only increase latencies (see InvalidReason in load_report.h).
  std::string VoidReason() const;
};

// Runs the load on the server of `connections`. Blocks until every answer has arrived or `patience` has passed, and
// returns the record. Only reads `workload` and `connections`. Requires at least as many connections as threads, and at
// least one request in the workload.
LoadResult RunLoad(const LoadConnections& connections, const Workload& workload, const LoadSettings& settings,
                   const LoadHooks& hooks);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_H_
