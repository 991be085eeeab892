// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_CLASSIFY_SERVICE_H_
#define VITRINE_SERVER_SERVE_REQUEST_CLASSIFY_SERVICE_H_

#include <atomic>
#include <functional>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/caller.h"
#include "server/models/registry/registry.h"
#include "server/observe/metrics.h"
#include "server/observe/request_log.h"
#include "server/observe/trace_context.h"
#include "server/process/clock.h"
#include "server/serve/request/ledger.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/peer_accounts.h"
#include "server/serve/scheduling/scheduler.h"
#include "server/trace/tracer.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// What the RPC side knows of a request beside its message.
struct CallContext {
  Caller caller = {};     // Foresee or Classify gives it its account
  std::string peer = {};  // where the connection comes from, as gRPC writes it
  Method method = Method::kClassify;
  absl::Time deadline = absl::InfiniteFuture();  // on the service's clock
  CancelFlag cancelled;
  CancelFlag abandoned = nullptr;  // of InferenceRequest; only where `model` is set
  std::optional<TraceContext> trace = {};
  // Of a picture of a call that BeginCall was asked for: its place in the call. `trace` is then the call's own span, or
  // what its caller sent where the call is not traced.
  std::optional<int> part = {};
  // The version that answers, as Find returned it, so that several requests get the same one. Null: looked up.
  ModelHandle model = nullptr;
  bool is_routed = false;  // of InferenceRequest, where `model` is set
  // Called, within Classify, before an accepted request is submitted: bytes of attention and features in the answer to
  // come. May be null.
  std::function<void(int64_t)> planned = {};
  // Why the request is refused, of which only the outline was read: Foresee's answer. OK: it was read whole.
  absl::Status refusal = absl::OkStatus();
  ModelHandle foreseen = nullptr;  // the version that Foresee asked about: the shares are drawn once a request
  // Takes over, within Classify, the room that an accepted request's answer was given in the budget of answers; whoever
  // hands the answer to the transport keeps it until the client has taken it. Null: given back when Done has returned.
  std::shared_ptr<HeldRoom> room = nullptr;
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
  // accepted; whoever hands the answer to the transport counts it as answered. A message that could not be parsed
  // passes here with its status, so that it is counted too. Never throws: what finds no memory is refused.
  void Classify(absl::StatusOr<v1::ClassifyRequest> request, CallContext call, Done done);

  // The span of a call that holds several requests, whose model is known; each of them passes through Classify as a
  // part of the call. Null: the call is not traced. May throw std::bad_alloc.
  std::unique_ptr<RequestTrace> BeginCall(const CallContext& call, absl::Time arrival, const std::string& request_id,
                                          int pictures);
  // The call ended so, now; `spans` may be null. Never throws.
  void EndCall(std::unique_ptr<RequestTrace> spans, const absl::Status& status);

  // Whether requests were refused of late because their answers would come too late: what Foresee is worth asking for.
  bool RefusesTheLate() const { return admission_.RefusesTheLate(); }
  // RESOURCE_EXHAUSTED, for call.refusal, where Classify would refuse the request whose outline this is (rpc/outline.h)
  // because its answer would come too late; OK where it would not. Nothing where it cannot be planned: Classify has
  // another reason to refuse it, or its picture's header goes on in what was left out. Notes in `call` whose account it
  // is and which version. Leaves the outline only with a refusal.
  std::optional<absl::Status> Foresee(v1::ClassifyRequest& outline, int64_t left_out, CallContext& call);

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
  absl::StatusOr<InferenceRequest> Accept(absl::StatusOr<v1::ClassifyRequest> request, const CallContext& call,
                                          Asked& asked);
  void Answer(Asked& asked, absl::StatusOr<v1::ClassifyResponse> answer);
  // Reserves the room for the answer and the place in the queue.
  absl::Status Admit(InferenceRequest& plan);

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
