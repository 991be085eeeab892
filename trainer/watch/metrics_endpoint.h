#ifndef VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_
#define VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
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
  // Listens. `metrics` must outlive the endpoint. INVALID_ARGUMENT: no HOST:PORT. UNAVAILABLE if the address cannot be
  // bound, or is IPv6 where the HTTP library has none.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const Options& options, const TrainingMetrics& metrics);
  // Waits for answers under way, and up to two seconds for the listening thread.
  ~MetricsEndpoint();

  // HOST:PORT as bound.
  const std::string& address() const { return address_; }

 private:
  class Pages;
  MetricsEndpoint(std::unique_ptr<Pages> pages, std::string address);

  std::unique_ptr<Pages> pages_;
  const std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_METRICS_ENDPOINT_H_
