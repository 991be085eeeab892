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
#include "client/load/arrivals.h"
#include "client/load/connections.h"
#include "client/load/load_record.h"
#include "client/load/workload.h"

namespace vitrine {

// "p99=50ms": at most so long for this share of the requests that were due.
struct LatencyBound {
  double quantile = 0.99;
  absl::Duration most = absl::InfiniteDuration();
};

// How requests travel.
enum class LoadMode {
  kUnary,   // a call of Classify for each
  kStream,  // those of a connection on one ClassifyStream
};

// How a load is put on a server.
struct LoadSettings {
  LoadMode mode = LoadMode::kUnary;
  // The schedule of an open loop, anew for each of several threads; null: a closed loop.
  std::function<std::unique_ptr<Arrivals>()> arrivals = {};
  bool trace = false;    // arrivals name their requests; else these are drawn from the workload
  int concurrency = 16;  // of a closed loop: requests that are always under way
  absl::Duration warm_up = absl::Seconds(2);
  absl::Duration duration = absl::Seconds(10);  // measured
  uint64_t max_requests = 0;                    // ends the measured interval earlier; 0: no bound
  // Most requests without an answer. One more is not sent, and counted as such; each costs some 10 KB here.
  int max_outstanding = 8192;
  // How long, after the last request, answers are waited for.
  absl::Duration patience = absl::Seconds(30);
  // Threads that receive; in an open loop each has another beside it that sends. Each has its share of the connections.
  int threads = 1;
  uint64_t seed = 1;
  bool allow_empty = false;  // answers without predictions are answers, as of a server that does nothing
  int server_process = 0;    // its processor time is read as well; 0: none
  // What the latency may be; how late the generator may be follows from it.
  std::vector<LatencyBound> bounds = {};
};

// What a load is like while it runs.
struct LoadProgress {
  double seconds = 0;                        // since the start
  double due = 0, answered = 0, failed = 0;  // requests in the second before
  double p50_ms = 0, p99_ms = 0;             // of the answers in it
  int64_t outstanding = 0;
};

struct LoadHooks {
  std::function<bool()> stopped = [] { return false; };         // asked often, from several threads
  std::function<void(const LoadProgress&)> progress = nullptr;  // about once a second of the measured interval
};

struct LoadResult {
  LoadRecord record;
  bool interrupted = false;
  // During the measured interval: what the generator (this process) and the server used of the processors.
  double generator_seconds = 0;
  double server_seconds = 0;
  // Of the measured interval, the share in which the busiest of the threads that receive ran or waited for a processor.
  double receiver_share = 0;
  std::vector<LatencyBound> bounds = {};  // of the settings

  double GeneratorShare() const;                 // of one core
  double SlipShare() const;                      // of the latency, both in the mean: the generator's own
  double ServerShare() const;                    // of one core
  double GeneratorMicrosecondsARequest() const;  // 0 without a request
  double RequestsPerProcessorSecond() const;     // what one core could send and receive; 0 without a request
  // Why latencies and rates say as much about the generator as about the server; "" where they do not. How late it
  // started requests is in their latency, which counts from when they were due: it was too late if that was more than a
  // tenth of a bound at the bound's quantile (without bounds: of the p99 of all due), more than a millisecond, and
  // three times at least. Or a thread that receives was busy for more than 90 % of the time, so that answers waited for
  // it. Both make latencies longer, never shorter: see PointVoid in load_report.h.
  std::string VoidReason() const;
};

// Puts the load on the server behind `connections` and returns what became of it, once every answer has come or
// `patience` has passed. Blocks; `workload` and `connections` are only read. Requires at least as many connections as
// threads, and at least one request in the workload.
LoadResult RunLoad(const LoadConnections& connections, const Workload& workload, const LoadSettings& settings,
                   const LoadHooks& hooks);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_H_
