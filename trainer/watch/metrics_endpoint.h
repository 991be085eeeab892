// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_
#define VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/server.h"
#include "trainer/watch/training_metrics.h"

namespace vitrine {

// Plain HTTP while a run trains: /metrics in Prometheus' text format, and /healthz, which is 200, or 503 with a
// sentence when the run has shown no life for `stalled_after`. GET and HEAD only; every other path is 404. Has threads
// of its own; a slow scraper does not slow a step.
class MetricsEndpoint {
 public:
  struct Options {
    std::string address = {};  // HOST:PORT; port 0 picks one
    // A measurement shows no life until its end, so this must be longer than one takes.
    absl::Duration stalled_after = absl::InfiniteDuration();
  };
  // Listens. `metrics` must outlive the endpoint, whose end waits for the answers under way. INVALID_ARGUMENT: no
  // HOST:PORT. UNAVAILABLE as HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const Options& options, const TrainingMetrics& metrics);

  // HOST:PORT as bound.
  const std::string& address() const { return server_->address(); }

 private:
  explicit MetricsEndpoint(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  const std::unique_ptr<HttpServer> server_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_
