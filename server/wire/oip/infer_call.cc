// SPDX-License-Identifier: Apache-2.0
// The unary ModelInfer call.
#include <utility>

#include "base/status_macros.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/call_trace.h"
#include "server/wire/rpc/unary_call.h"

namespace vitrine {
namespace {

class InferCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

  void Request(grpc::ServerCompletionQueue* cq) override {
    parts_.oip_rpc.RequestModelInfer(&context_, &bytes_, &writer_, cq, cq, &requested_);
  }

 private:
  void Serve() override {
    queue_.Renew(PostModelInfer, parts_);
    CallContext call = {.method = Method::kModelInfer,
                        .deadline = DeadlineOf(context_, parts_.service.clock()),
                        .cancelled = cancelled_};
    absl::StatusOr<inference::ModelInferRequest> request =
        OrOutOfMemory([&]() -> absl::StatusOr<inference::ModelInferRequest> {
          call.peer = context_.peer();
          call.trace = TraceOf(context_);
          const absl::StatusOr<Caller> caller =
              Authorize(parts_, "/inference.GRPCInferenceService/ModelInfer", context_);
          call.caller = CallerOf(caller);
          RETURN_IF_ERROR(caller.status());
          RETURN_IF_ERROR(Unfold(bytes_, parts_.max_message_bytes));
          return ReadInfer(parts_.service, bytes_, call);
        });
    Infer(parts_.service, std::move(request), std::move(call),
          [this](const absl::StatusOr<inference::ModelInferResponse>& answer, InferHeld held) {
            held_ = std::move(held);
            Answer(answer);
          });
  }

  void OnAnswered() override {
    for (int i = 0; i < held_.requests; ++i) parts_.service.ledger().Answer();
    held_ = {};
  }

  InferHeld held_;  // until the answer is out; written before it is handed to the transport
};

}  // namespace

void PostModelInfer(CallParts& parts, CallQueue& queue) {
  PostUnaryCall<InferCall>(parts, queue);
}

}  // namespace vitrine
