// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_CLASSIFY_SERVICE_H_
#define VITRINE_SERVER_SERVE_REQUEST_CLASSIFY_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/caller.h"
#include "server/models/registry/registry.h"
#include "server/observe/metrics.h"
#include "server/observe/request_log.h"
#include "server/observe/trace_context.h"
#include "server/process/clock.h"
#include "server/serve/request/answer_hold.h"
#include "server/serve/request/ledger.h"
#include "server/serve/request/received.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/peer_accounts.h"
#include "server/serve/scheduling/scheduler.h"
#include "server/trace/tracer.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// How the answer is written, as far as its size depends on it.
struct AnswerForm {
  // Bytes of the predictions. Without it: of those of a v1::ClassifyResponse.
  std::optional<int64_t> prediction_bytes = {};
  int scale = 1;  // bytes for each byte of predictions, attention and features: text takes several times their size
  // Pictures whose answers are sent as one message, each like this one's.
  int pictures = 1;
  // Largest message that the client takes.
  int64_t most_message_bytes = std::numeric_limits<int64_t>::max();
};

// What the wire knows of a request beside its message.
struct CallContext {
  Caller caller = {};     // Classify gives it its account
  std::string peer = {};  // where the connection comes from, as gRPC writes it
  Method method = Method::kClassify;
  absl::Time deadline = absl::InfiniteFuture();  // on the service's clock, which does not follow the wall clock
  CancelFlag cancelled = nullptr;
  CancelFlag abandoned = nullptr;  // of InferenceRequest; only where `model` is set
  std::optional<TraceContext> trace = {};
  // Index of this picture within a call that BeginCall was asked for. `trace` is then the call's own span, or what its
  // caller sent where the call is not traced.
  std::optional<int> part = {};
  // The version that answers, as Find returned it, so that several requests get the same one. Null: looked up.
  ModelHandle model = nullptr;
  bool is_routed = false;  // of InferenceRequest, where `model` is set
  AnswerForm form = {};
  // Called, within Classify, before an accepted request is submitted, with the bytes that are reserved for its answer.
  // May be null.
  std::function<void(int64_t)> planned = {};
  // Takes over what an accepted request holds, and counts it: see AnswerHold. The parts of one call share it. Null: a
  // hold of the request's own, which dies when Done has returned.
  std::shared_ptr<AnswerHold> held = nullptr;
};

// Whether the traffic's shares choose the version that answers.
bool LeavesTheVersionOpen(const v1::ClassifyRequest& request);

// One request, from message to answer; what unary calls and streams share. Thread-safe. The parts outlive the service,
// and so does the tracer where there is one.
class ClassifyService {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::ClassifyResponse>)>;

  ClassifyService(const Registry& registry, Admission& admission, Scheduler& scheduler, Metrics& metrics,
                  const Clock& clock, const RequestLogOptions& log = {}, Tracer* tracer = nullptr)
      : registry_(registry),
        admission_(admission),
        scheduler_(scheduler),
        metrics_(metrics),
        clock_(clock),
        accounts_(clock),
        log_(log, clock),
        tracer_(tracer) {}

  // Calls `done` exactly once: on this thread with a refusal, or later on an executor's. Counts the request as
  // accepted; it counts as answered when call.held dies. A message that could not be parsed passes here with its
  // status, so that it is counted too.
  void Classify(absl::StatusOr<ReceivedClassify> request, CallContext call, Done done);

  // The span of a call that holds several requests, whose model is known; each of them passes through Classify as a
  // part of the call. Null: the call is not traced.
  std::unique_ptr<RequestTrace> BeginCall(const CallContext& call, absl::Time arrival, const std::string& request_id,
                                          int pictures);
  // The call ended so, now; `spans` may be null.
  void EndCall(std::unique_ptr<RequestTrace> spans, const absl::Status& status);

  // The version that would answer the request now. What Registry::Route says, to a caller who may use the model.
  absl::StatusOr<ModelHandle> Find(const v1::ClassifyRequest& request, const Caller& caller) const;

  // From here on every request is refused with UNAVAILABLE.
  void StartDraining() { draining_.store(true, std::memory_order_release); }

  const AdmissionOptions& limits() const { return admission_.options(); }
  Ledger& ledger() { return ledger_; }
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }

 private:
  struct Asked;  // what is known of a request beside its message, until it is answered

  // A request ended.
  void Count(Asked& asked, const absl::Status& status, absl::Duration spent);
  void WriteLine(const Asked& asked, const absl::Status& status, absl::Duration spent);
  void EndSpans(Asked& asked, const absl::Status& status, absl::Duration spent);
  absl::StatusOr<InferenceRequest> Accept(absl::StatusOr<ReceivedClassify> request, const CallContext& call,
                                          Asked& asked);
  void Answer(Asked& asked, absl::StatusOr<v1::ClassifyResponse> answer);
  // Reserves the room for the answer and the place in the queue, once the client would take it.
  absl::Status Admit(InferenceRequest& plan, const AnswerForm& form);

  const Registry& registry_;
  Admission& admission_;
  Scheduler& scheduler_;
  Metrics& metrics_;
  const Clock& clock_;
  PeerAccounts accounts_;
  RequestLog log_;
  Tracer* const tracer_;  // null: nothing is traced
  Ledger ledger_;
  std::atomic<bool> draining_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_CLASSIFY_SERVICE_H_
