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
#include "server/identity/authorization.h"
#include "server/identity/caller.h"
#include "server/observe/metrics.h"
#include "server/observe/request_log.h"
#include "server/observe/trace_context.h"
#include "server/process/clock.h"
#include "server/registry/registry.h"
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

// Properties of the answer's encoding, from which the size of the answer is predicted.
struct AnswerForm {
  // Size of the predictions in bytes; unset: their size in a v1::ClassifyResponse.
  std::optional<int64_t> prediction_bytes = {};
  int scale = 1;  // encoded bytes per byte of predictions, attention and features: text takes several times their size
  // Number of images whose answers are sent in one message; each of these answers is assumed to be as large as the
  // answer of this request.
  int images = 1;
  // Largest message that the client accepts, in bytes.
  int64_t most_message_bytes = std::numeric_limits<int64_t>::max();
};

// A version that was chosen before Classify was called.
struct FoundVersion {
  ModelHandle model;       // never null
  bool is_routed = false;  // see InferenceRequest::is_routed
};

// One image of a multi-image call. The code that handles the call must have called BeginCall.
struct CallPart {
  int index = 0;
  int images = 1;                  // number of images in the call
  CancelFlag abandoned = nullptr;  // see InferenceRequest::abandoned
};

// Request data from the transport, not from the message.
struct CallContext {
  Caller caller = {};     // the caller; Classify sets the account
  std::string peer = {};  // address of the client, in gRPC's form
  Method method = Method::kClassify;
  // Request id for the log and the trace if the message has no id or could not be parsed.
  std::string request_id = {};
  absl::Time deadline = absl::InfiniteFuture();  // on the monotonic Clock, not the wall clock
  CancelFlag cancelled = nullptr;
  // The client's trace context. For a part of a traced multi-image call: the trace context of the call's span.
  std::optional<TraceContext> trace = {};
  std::optional<FoundVersion> version = {};  // unset: Classify finds the version; always set for a part
  std::optional<CallPart> part = {};
  AnswerForm form = {};
  // Called in Classify, before an admitted request is submitted, with the number of bytes that are reserved for its
  // answer. May be null.
  std::function<void(int64_t)> planned = {};
  // Object that counts the request and holds its resources once it is admitted (see AnswerResources). All images of one
  // call share one object. Null: Classify makes an object and releases it when Done has returned.
  std::shared_ptr<AnswerResources> held = nullptr;
};

// Returns true if the request names no version and no label. Registry::Route then chooses the version by the traffic
// shares of the model's versions.
bool NamesNoVersion(const v1::ClassifyRequest& request);

// Handles a request from its message to its answer, for unary calls and streams. Thread-safe. The constructor's
// arguments, except `log`, must outlive the service.
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

  // Calls `done` exactly once: on this thread with a rejection, or later on any thread. The request counts as accepted
  // at the time of the call, and as answered when context.held is released. Also call Classify with the error of a
  // message that could not be parsed, so that this request is also counted.
  void Classify(absl::StatusOr<ReceivedClassify> request, CallContext context, Done done);

  // Counts the result of Identity::Authorize for a call from `peer`. Also logs an error, except for the unary methods
  // Classify and ModelInfer, whose errors are passed to Classify and logged there.
  void CountAuthorization(RpcName rpc, const absl::StatusOr<Caller>& caller, const std::string& peer,
                          const std::string& request_id);

  // Begins the span of a multi-image call; call.version must be set. Each image is then passed to Classify as a part of
  // the call. Returns null if the call is not traced.
  std::unique_ptr<RequestTrace> BeginCall(const CallContext& call, absl::Time arrival, const std::string& request_id,
                                          int images);
  // Ends the span of a call now, with its status; `spans` may be null.
  void EndCall(std::unique_ptr<RequestTrace> spans, const absl::Status& status);

  // Returns the version that would answer the request now. For errors, see Registry::Route. Does not check that the
  // caller may use the model.
  absl::StatusOr<ModelHandle> Find(const v1::ClassifyRequest& request, const Caller& caller) const;

  // Makes every later request fail with UNAVAILABLE.
  void StartDraining() { draining_.store(true, std::memory_order_release); }

  const AdmissionOptions& limits() const { return admission_.options(); }
  Ledger& ledger() { return ledger_; }
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }

 private:
  struct Pending;  // state of a request until it is answered, without its message

  // Records the end of a request in metrics, log and trace.
  void Count(Pending& pending, const absl::Status& status, absl::Duration spent);
  void WriteLine(const Pending& pending, const absl::Status& status, absl::Duration spent);
  void EndSpans(Pending& pending, const absl::Status& status, absl::Duration spent);
  absl::StatusOr<InferenceRequest> Accept(absl::StatusOr<ReceivedClassify> request, Pending& pending);
  void Answer(Pending& pending, absl::StatusOr<v1::ClassifyResponse> answer);
  // Checks that the client accepts the answer's size, then reserves room for the answer and a place in the queue.
  absl::Status Admit(InferenceRequest& plan, const AnswerForm& form);

  const Registry& registry_;
  Admission& admission_;
  Scheduler& scheduler_;
  Metrics& metrics_;
  const Clock& clock_;
  PeerAccounts accounts_;
  RequestLog log_;
  Tracer* const tracer_;  // null: tracing is off
  Ledger ledger_;
  std::atomic<bool> draining_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_CLASSIFY_SERVICE_H_
