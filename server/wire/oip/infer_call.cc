// SPDX-License-Identifier: Apache-2.0
// The unary ModelInfer call.
#include <utility>

#include "server/wire/oip/infer.h"
#include "server/wire/oip/oip_calls.h"
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
    CallContext call = {.method = Method::kModelInfer, .cancelled = cancelled_};
    absl::StatusOr<inference::ModelInferRequest> request =
        Receive("/inference.GRPCInferenceService/ModelInfer", call, ReadInfer);
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
