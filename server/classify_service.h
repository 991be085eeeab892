#ifndef VITRINE_SERVER_CLASSIFY_SERVICE_H_
#define VITRINE_SERVER_CLASSIFY_SERVICE_H_

#include <atomic>
#include <functional>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission.h"
#include "server/clock.h"
#include "server/inference_request.h"
#include "server/ledger.h"
#include "server/metrics.h"
#include "server/registry.h"
#include "server/scheduler.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// What the RPC side knows of a request beside its message.
struct Caller {
  Method method = Method::kClassify;
  absl::Time deadline = absl::InfiniteFuture();  // on the service's clock
  CancelFlag cancelled;
  // Called, within Classify, before an accepted request is submitted: bytes of attention and features in the answer to
  // come. May be null.
  std::function<void(int64_t)> planned = {};
};

// One request, from message to answer; what unary calls and streams share. Thread-safe. The parts outlive the service.
class ClassifyService {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::ClassifyResponse>)>;

  ClassifyService(const Registry& registry, Admission& admission, Scheduler& scheduler, Metrics& metrics,
                  const Clock& clock)
      : registry_(registry), admission_(admission), scheduler_(scheduler), metrics_(metrics), clock_(clock) {}

  // Calls `done` exactly once: on this thread with a refusal, or later on an executor's. Counts the request as
  // accepted; whoever hands the answer to the transport counts it as answered. A message that could not be parsed
  // passes here with its status, so that it is counted too.
  void Classify(absl::StatusOr<v1::ClassifyRequest> request, Caller caller, Done done);

  // From here on every request is refused with UNAVAILABLE.
  void StartDraining() { draining_.store(true, std::memory_order_release); }

  Ledger& ledger() { return ledger_; }
  const Clock& clock() const { return clock_; }

 private:
  absl::StatusOr<InferenceRequest> Accept(absl::StatusOr<v1::ClassifyRequest> request, const Caller& caller,
                                          ModelMetrics*& metrics);

  const Registry& registry_;
  Admission& admission_;
  Scheduler& scheduler_;
  Metrics& metrics_;
  const Clock& clock_;
  Ledger ledger_;
  std::atomic<bool> draining_ = false;
};

// What a caller reads when the server goes down.
absl::Status DrainingError();

}  // namespace vitrine

#endif  // VITRINE_SERVER_CLASSIFY_SERVICE_H_
