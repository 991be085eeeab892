// SPDX-License-Identifier: Apache-2.0
// The unary Classify call.
#include <memory>
#include <utility>

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
    CallContext call = {.method = Method::kClassify, .cancelled = cancelled_, .room = room_};
    absl::StatusOr<v1::ClassifyRequest> request = Receive("/vitrine.v1.Classifier/Classify", call, ReadRequest);
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

}  // namespace vitrine
