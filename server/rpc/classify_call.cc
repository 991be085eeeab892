// SPDX-License-Identifier: Apache-2.0
// The unary Classify call.
#include <memory>
#include <utility>

#include "server/rpc/call_credentials.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/calls.h"
#include "server/rpc/unary_call.h"

namespace vitrine {
namespace {

class ClassifyCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

  void Request(grpc::ServerCompletionQueue* cq) override {
    parts_.classifier_rpc.RequestClassify(&context_, &bytes_, &writer_, cq, cq, &requested_);
  }

 private:
  void Serve() override {
    PostClassify(parts_, queue_);
    absl::StatusOr<Caller> caller = Authorize(parts_, "/vitrine.v1.Classifier/Classify", context_);
    absl::StatusOr<v1::ClassifyRequest> request =
        caller.ok() ? ParseRequest(bytes_) : absl::StatusOr<v1::ClassifyRequest>(caller.status());
    parts_.service.Classify(std::move(request),
                            {.caller = CallerOf(caller),
                             .peer = context_.peer(),
                             .method = Method::kClassify,
                             .deadline = DeadlineOf(context_, parts_.service.clock()),
                             .cancelled = cancelled_,
                             .trace = TraceOf(context_),
                             .room = room_},
                            [this](const absl::StatusOr<v1::ClassifyResponse>& answer) { Answer(answer); });
  }

  void OnAnswered() override { parts_.service.ledger().Answer(); }

  const std::shared_ptr<AnswerReservation> room_ = std::make_shared<AnswerReservation>();  // until the answer is out
};

}  // namespace

void PostClassify(CallParts& parts, CallQueue& queue) {
  PostUnaryCall<ClassifyCall>(parts, queue);
}

absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const grpc::ServerContextBase& context) {
  absl::StatusOr<Caller> caller = parts.identity.Authorize(rpc, CredentialsOf(context));
  parts.service.metrics().server().CountAuthorization(caller.status().code());
  return caller;
}

absl::Time DeadlineOf(const grpc::ServerContext& context, const Clock& clock) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return clock.Now() + (absl::FromChrono(deadline) - absl::Now());
}

}  // namespace vitrine
