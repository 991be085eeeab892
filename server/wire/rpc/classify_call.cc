// SPDX-License-Identifier: Apache-2.0
// The unary Classify call.
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "server/wire/rpc/call_credentials.h"
#include "server/wire/rpc/call_trace.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/unary_call.h"

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
    queue_.Renew(PostClassify, parts_);
    CallContext call = {.method = Method::kClassify,
                        .deadline = DeadlineOf(context_, parts_.service.clock()),
                        .cancelled = cancelled_,
                        .room = room_};
    absl::StatusOr<v1::ClassifyRequest> request = OrOutOfMemory([&]() -> absl::StatusOr<v1::ClassifyRequest> {
      call.peer = context_.peer();
      call.trace = TraceOf(context_);
      const absl::StatusOr<Caller> caller = Authorize(parts_, "/vitrine.v1.Classifier/Classify", context_);
      call.caller = CallerOf(caller);
      RETURN_IF_ERROR(caller.status());
      RETURN_IF_ERROR(Unfold(bytes_, parts_.max_message_bytes));
      return ReadRequest(parts_.service, bytes_, call);
    });
    parts_.service.Classify(std::move(request), std::move(call),
                            [this](const absl::StatusOr<v1::ClassifyResponse>& answer) { Answer(answer); });
  }

  void OnAnswered() override { parts_.service.ledger().Answer(); }

  const std::shared_ptr<HeldRoom> room_ = std::make_shared<HeldRoom>();  // until the answer is out
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
