// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_METRICS_H_
#define VITRINE_SERVER_OBSERVE_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/http/close_reason.h"
#include "common/mutex.h"
#include "models/engine/device_status.h"
#include "server/observe/families.h"
#include "server/observe/model_metrics.h"

namespace vitrine {

// Listener of the server: --listen with --socket, --http, --admin, --health-listen, --metrics.
enum class Listener { kGrpc, kHttp, kAdmin, kHealth, kMetrics };
// Names of the listeners in metrics and log, in the order of Listener.
inline constexpr const char* kListenerNames[] = {"grpc", "http", "admin", "health", "metrics"};
inline constexpr int kListeners = std::size(kListenerNames);

// Counters of a listener's connections. Thread-safe.
struct ListenerCounters {
  std::atomic<uint64_t> accepted = 0;
  std::atomic<uint64_t> refused = 0;  // connections closed before a byte was read
  // Numbers of connections that the server or the client closed or refused, by CloseReason.
  std::array<std::atomic<uint64_t>, kCloseReasons> closed = {};
  // Numbers of requests that the server ended while their connections stayed open, by StreamCutOff.
  std::array<std::atomic<uint64_t>, kStreamCutOffs> streams_cut_off = {};
};

// Counters of the server as a whole. Thread-safe.
struct ServerCounters {
  std::array<ListenerCounters, kListeners> listeners = {};
  ListenerCounters& Of(Listener listener) { return listeners[static_cast<size_t>(listener)]; }
  std::atomic<uint64_t> unauthenticated = 0;  // calls rejected because a credential was missing or wrong
  std::atomic<uint64_t> permission_denied = 0;

  // Counts UNAUTHENTICATED and PERMISSION_DENIED; ignores other codes.
  void CountAuthorization(absl::StatusCode code) {
    if (code == absl::StatusCode::kUnauthenticated) unauthenticated.fetch_add(1, std::memory_order_relaxed);
    if (code == absl::StatusCode::kPermissionDenied) permission_denied.fetch_add(1, std::memory_order_relaxed);
  }
};

// State of one executor.
struct ExecutorStatus {
  absl::Duration busy;       // time spent on batches since the start, including the running batch; never decreases
  uint64_t batches = 0;      // number of batches that were begun
  absl::Duration batch_age;  // age of the running batch; zero if idle
};

struct QueueStatus {
  int64_t requests = 0;
  int64_t bytes = 0;
  int64_t tokens = 0;
  absl::Duration oldest;  // age of the oldest waiting request
};

struct AdmissionStatus {
  int64_t requests = 0;
  int64_t bytes = 0;
  absl::Duration work;  // predicted executor time of the requests
  int64_t limit_requests = 0;
  int64_t limit_bytes = 0;
  int64_t computing = 0;  // requests that wait or compute; requests whose answers are being delivered do not count
};

struct AnswerStatus {
  int64_t bytes = 0;  // bytes reserved for answers
  int64_t limit = 0;
};

// Received messages and bodies that are still in memory.
struct ReceivedStatus {
  int64_t bytes = 0;
  int64_t limit = 0;
};

// Spans of traced requests since the start, by result.
struct SpanTotals {
  uint64_t exported = 0;  // accepted by the collector
  uint64_t full = 0;      // dropped: the queue was full
  uint64_t failed = 0;    // dropped: the collector did not accept them
};

// CPU and memory limits of this process.
struct MachineLimits {
  double cores = 0;
  int64_t memory_bytes = 0;
};

// All metrics of the server; metric_table.h gives their names and meanings. Reading them does not delay the executors.
// Thread-safe.
class Metrics : public prometheus::Collectable {
 public:
  // Sources of gauges; each scrape calls these functions on its own thread. If a source is null, its families are
  // omitted.
  struct Sources {
    std::function<void(MetricFamilies&)> versions = {};  // adds the families of the versions
    std::function<QueueStatus()> queue = {};
    std::function<AdmissionStatus()> admission = {};
    std::function<AnswerStatus()> answers = {};
    std::function<ReceivedStatus()> received = {};
    std::function<int64_t()> unsent_bytes = {};  // bytes of responses that were not yet passed to the kernel
    std::function<std::vector<ExecutorStatus>()> executors = {};
    std::function<double()> lanes_busy_ratio = {};  // see StatusReader::ExecutorsBusyRatio
    std::function<MachineLimits()> machine = {};
    std::function<bool()> ready = {};
    std::function<bool()> repository_readable = {};
    std::function<int64_t()> connections = {};   // open connections of the clients' listeners
    std::function<int64_t()> open_streams = {};  // calls that stay open until their clients end them
    // Reasons why settings files are rejected, one for each file.
    std::function<std::vector<std::string>()> rejected_settings = {};
    // Each listener ("grpc", "admin") with the wall-clock time at which its certificate expires.
    std::function<std::vector<std::pair<std::string, absl::Time>>()> certificates = {};
    std::function<absl::Time()> repository_refreshed = {};          // null if the repository is a folder
    std::function<std::pair<uint64_t, uint64_t>()> log_lines = {};  // numbers of warnings and errors
    std::function<SpanTotals()> spans = {};                         // null if tracing is off
    std::function<std::optional<DeviceStatus>()> device = {};       // null on a CPU; no value if the device fails
  };

  // `version` and `revision` identify the program.
  explicit Metrics(std::string version, std::string revision = "");

  // Must be called before the first scrape.
  void SetSources(Sources sources);
  const Sources& sources() const { return sources_; }

  // Returns the metrics of a model in the registry; creates them on first use. Never pass a name from a request.
  std::shared_ptr<ModelMetrics> ForModel(const std::string& model);
  // Returns the metrics of requests whose model is not known; their label is "unknown". A model named "unknown" shares
  // them, because a scrape must not contain a series twice.
  ModelMetrics& unknown() { return *unknown_; }
  ServerCounters& server() { return server_; }

  // CountAdminAction counts the end of an Admin call. `action` is the method's name, never text from a client.
  // DeclareAdminAction adds the action with a count of zero, so that a rate includes the action's first call.
  void DeclareAdminAction(std::string_view action);
  void CountAdminAction(std::string_view action, absl::StatusCode code);

  // Returns the metrics of every model.
  std::map<std::string, std::shared_ptr<ModelMetrics>> Models() const;

  std::vector<prometheus::MetricFamily> Collect() const override;
  // Returns the metrics in the text exposition format, version 0.0.4.
  std::string Text() const;

 private:
  std::map<std::string, std::shared_ptr<ModelMetrics>> WithUnknown() const;  // returns Models() and unknown()
  // Defined in request_families.cc.
  void AddRequests(MetricFamilies& families) const;
  void AddEnds(MetricFamilies& families) const;
  void AddStages(MetricFamilies& families) const;
  void AddVersionRequests(MetricFamilies& families) const;
  // Defined in server_families.cc.
  void AddLoads(MetricFamilies& families) const;
  void AddQueue(MetricFamilies& families) const;
  void AddExecutors(MetricFamilies& families) const;
  void AddDevice(MetricFamilies& families) const;
  void AddServer(MetricFamilies& families) const;
  void AddConnections(MetricFamilies& families) const;
  void AddIdentity(MetricFamilies& families) const;

  const std::string version_;
  const std::string revision_;
  const std::shared_ptr<ModelMetrics> unknown_ = std::make_shared<ModelMetrics>();
  ServerCounters server_;
  Sources sources_;  // constant after SetSources

  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<ModelMetrics>> models_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, absl::StatusCode>, uint64_t> admin_actions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_METRICS_H_
