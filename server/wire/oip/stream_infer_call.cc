// SPDX-License-Identifier: Apache-2.0
// The bidirectional ModelStreamInfer call.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/stream_call.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/inference.GRPCInferenceService/ModelStreamInfer";

// Answers are written in the order of the requests, which clients of the protocol may count on.
class StreamInferCall final : public StreamCall {
 public:
  StreamInferCall(CallParts& parts, CallQueue& queue)
      : StreamCall(parts, queue, kRpc, PostModelStreamInfer, Order::kAsAsked) {}

 private:
  void Ask(grpc::ServerCompletionQueue* cq) override {
    parts_.oip_rpc.RequestModelStreamInfer(&context_, &stream_, cq, cq, &requested_);
  }

  void Submit(std::shared_ptr<InFlight> read) override {
    CallContext call = ContextOf(*read, Method::kModelInfer);
    absl::StatusOr<inference::ModelInferRequest> request = OrOutOfMemory([&] { return Read(*read, call); });
    bytes_.Clear();
    // It holds two pointers and no more, for which a callback takes no memory.
    Infer(parts_.service, std::move(request), std::move(call),
          [read = std::move(read)](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
            read->requests = held.requests;
            read->rooms = std::move(held.rooms);
            Answer(*read, std::move(answer), MessageOf);
          });
  }

  absl::StatusOr<inference::ModelInferRequest> Read(InFlight& read, CallContext& call) {
    RETURN_IF_ERROR(origin_.Describe(call));
    RETURN_IF_ERROR(Unfold(bytes_, parts_.max_message_bytes));
    ASSIGN_OR_RETURN(inference::ModelInferRequest request, ReadInfer(parts_.service, bytes_, call));
    // A longer one is refused; it is not kept until the client reads.
    if (request.id().size() <= kMaxRequestIdBytes) read.id = request.id();
    return request;
  }

  static inference::ModelStreamInferResponse MessageOf(const InFlight& read,
                                                       absl::StatusOr<inference::ModelInferResponse> answer) {
    inference::ModelStreamInferResponse message;
    if (answer.ok()) {
      *message.mutable_infer_response() = *std::move(answer);
    } else {
      const absl::Status& refusal = answer.status();
      message.set_error_message(
          absl::StrCat(absl::StatusCodeToString(refusal.code()), ": ", ToGrpcStatus(refusal).error_message()));
      message.mutable_infer_response()->set_id(read.id);
    }
    return message;
  }
};

}  // namespace

void PostModelStreamInfer(CallParts& parts, CallQueue& queue) {
  PostStreamCall<StreamInferCall>(parts, queue);
}

}  // namespace vitrine
