// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_METRICS_H_
#define VITRINE_SERVER_OBSERVE_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/http/close_reason.h"
#include "base/mutex.h"
#include "server/observe/families.h"
#include "server/observe/model_metrics.h"

namespace vitrine {

// What is counted about the server as a whole. Thread-safe.
struct ServerCounters {
  std::atomic<uint64_t> connections = 0;          // accepted on the listeners of callers
  std::atomic<uint64_t> connections_refused = 0;  // closed before a byte was read
  // Closed, and refused, by CloseReason.
  std::array<std::atomic<uint64_t>, kCloseReasons> connections_closed = {};
  std::atomic<uint64_t> unauthenticated = 0;  // calls refused for who calls
  std::atomic<uint64_t> permission_denied = 0;

  // Does nothing for other codes.
  void CountAuthorization(absl::StatusCode code) {
    if (code == absl::StatusCode::kUnauthenticated) unauthenticated.fetch_add(1, std::memory_order_relaxed);
    if (code == absl::StatusCode::kPermissionDenied) permission_denied.fetch_add(1, std::memory_order_relaxed);
  }
};

// One executor as it stands.
struct ExecutorStatus {
  absl::Duration busy;       // spent on batches since the start, the running one included; never goes back
  uint64_t batches = 0;      // begun
  absl::Duration batch_age;  // of the running batch; zero while it waits for one
};

struct QueueStatus {
  int64_t requests = 0;
  int64_t bytes = 0;
  int64_t tokens = 0;
  absl::Duration oldest;  // age of the request that waits longest
};

struct AdmissionStatus {
  int64_t requests = 0;
  int64_t bytes = 0;
  absl::Duration work;  // executor time, as predicted
  int64_t limit_requests = 0;
  int64_t limit_bytes = 0;
  int64_t computing = 0;  // of `requests`, those that wait or compute; of the others the client takes the answer
};

struct AnswerStatus {
  int64_t bytes = 0;  // reserved
  int64_t limit = 0;
};

// Messages and bodies that were received and are still held.
struct ReceivedStatus {
  int64_t bytes = 0;
  int64_t limit = 0;
};

// What became of the spans of traced requests since the start.
struct SpanTotals {
  uint64_t exported = 0;  // a collector took them
  uint64_t full = 0;      // dropped: too many waited
  uint64_t failed = 0;    // dropped: the collector did not take them
};

// What this process may use.
struct MachineLimits {
  double cores = 0;
  int64_t memory_bytes = 0;
};

// Every metric of the server: what they are called and what they mean stands in metric_table.h and nowhere else.
// Reading costs the executors nothing. Thread-safe.
class Metrics : public prometheus::Collectable {
 public:
  // Gauges that are read when Prometheus asks; a family whose source is null is left out. Called from the scraping
  // thread.
  struct Sources {
    std::function<void(MetricFamilies&)> versions = {};  // adds the families of the versions
    std::function<QueueStatus()> queue = {};
    std::function<AdmissionStatus()> admission = {};
    std::function<AnswerStatus()> answers = {};
    std::function<ReceivedStatus()> received = {};
    std::function<std::vector<ExecutorStatus>()> executors = {};
    std::function<double()> lanes_busy_ratio = {};  // see StatusReader::LanesBusyRatio
    std::function<MachineLimits()> machine = {};
    std::function<bool()> ready = {};
    std::function<bool()> repository_readable = {};
    std::function<int64_t()> connections = {};   // open on the listeners of callers
    std::function<int64_t()> open_streams = {};  // calls that last until their clients end them
    // Listener ("grpc", "admin") and wall-clock time at which its certificate expires.
    std::function<std::vector<std::pair<std::string, absl::Time>>()> certificates = {};
    std::function<std::pair<uint64_t, uint64_t>()> log_lines = {};  // warnings, errors
    std::function<SpanTotals()> spans = {};                         // null where nothing is traced
  };

  // `version` and `revision` of the program.
  explicit Metrics(std::string version, std::string revision = "");

  // Before the first scrape.
  void SetSources(Sources sources);
  const Sources& sources() const { return sources_; }

  // The metrics of a model that the registry knows, made on first use. Never pass a name from a request.
  std::shared_ptr<ModelMetrics> ForModel(const std::string& model);
  // Requests that named no model of the registry; label "unknown".
  ModelMetrics& unknown() { return unknown_; }
  ServerCounters& server() { return server_; }

  // A call of the Admin service ended. `action` is the name of its method, never a word of the caller's. Rates need a
  // zero to start from, hence DeclareAdminAction.
  void DeclareAdminAction(std::string_view action);
  void CountAdminAction(std::string_view action, absl::StatusCode code);

  // Those of every model.
  std::map<std::string, std::shared_ptr<ModelMetrics>> Models() const;

  std::vector<prometheus::MetricFamily> Collect() const override;
  // The text exposition format, version 0.0.4.
  std::string Text() const;

 private:
  // request_families.cc
  void AddRequests(MetricFamilies& families) const;
  void AddEnds(MetricFamilies& families) const;
  void AddStages(MetricFamilies& families) const;
  void AddVersionRequests(MetricFamilies& families) const;
  // server_families.cc
  void AddLoads(MetricFamilies& families) const;
  void AddQueue(MetricFamilies& families) const;
  void AddExecutors(MetricFamilies& families) const;
  void AddServer(MetricFamilies& families) const;
  void AddIdentity(MetricFamilies& families) const;

  const std::string version_;
  const std::string revision_;
  ModelMetrics unknown_;
  ServerCounters server_;
  Sources sources_;  // constant after SetSources

  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<ModelMetrics>> models_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, absl::StatusCode>, uint64_t> admin_actions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_METRICS_H_
