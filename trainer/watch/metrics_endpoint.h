// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_
#define VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/http/server.h"
#include "trainer/watch/training_metrics.h"

namespace vitrine {

// Returns INVALID_ARGUMENT unless `address` is HOST:PORT.
absl::Status CheckMetricsAddress(const std::string& address);

// HTTP endpoint of a training run, without TLS. It has /metrics in Prometheus' text format, and /healthz, which returns
// 200. Accepts only GET and HEAD; other paths return 404. Uses its own threads, so a slow scraper does not slow a step.
class MetricsEndpoint {
 public:
  struct Options {
    std::string address = {};  // HOST:PORT; port 0 selects a free port
  };
  // Starts to listen. `metrics` must outlive the endpoint. The endpoint's destructor waits for open responses.
  // INVALID_ARGUMENT if the address is not HOST:PORT. Other errors are those of HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const Options& options, const TrainingMetrics& metrics);

  // Returns the bound HOST:PORT.
  const std::string& address() const { return server_->address(); }

 private:
  explicit MetricsEndpoint(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  const std::unique_ptr<HttpServer> server_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_
