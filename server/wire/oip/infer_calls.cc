// SPDX-License-Identifier: Apache-2.0
// The gRPC calls ModelInfer and ModelStreamInfer.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/single_call.h"
#include "server/wire/rpc/stream_call.h"

namespace vitrine {
namespace {

struct InferKind {
  static constexpr Method kMethod = Method::kModelInfer;
  using Received = ReceivedInfer;
  using Response = inference::ModelInferResponse;
  static bool IsSlow(std::string_view bytes) { return IsSlowInfer(bytes); }
  static absl::StatusOr<Received> Read(MessageBytes bytes, const HttpRequest& /*call*/) {
    return ReadInfer(std::move(bytes));
  }
  template <typename Done>
  static void Submit(ClassifyService& service, absl::StatusOr<Received> request, CallContext call, Done done) {
    Infer(service, std::move(request), std::move(call), std::move(done));
  }
};

constexpr char kFinalMark[] = "triton_final_response";

constexpr RpcName kStream = "/inference.GRPCInferenceService/ModelStreamInfer";

// A stream of inference requests. Answers have the order of the requests, because clients of the protocol may rely on
// it.
class StreamInferCall final : public StreamCall {
 public:
  StreamInferCall(CallParts& parts, const GrpcOpening& opening)
      : StreamCall(parts, kStream, opening, opening.server.options().max_message_bytes, Order::kAsReceived) {}

 private:
  void Submit(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes> message) override {
    if (!message.ok() || !IsSlowInfer((*message)->bytes)) return Handle(std::move(read), std::move(message));
    PauseReading();  // until the memory of the answer is known
    const absl::Status taken = RunOn(server().body_workers(), network(), [this, read, message = *std::move(message)] {
      const bool is_cancelled = cancelled()->load(std::memory_order_acquire);
      Handle(read, is_cancelled ? absl::StatusOr<MessageBytes>(absl::CancelledError("the client has left")) : message);
      ResumeUnlessFull();
    });
    if (taken.ok()) return;
    Handle(std::move(read), taken);
    ResumeUnlessFull();
  }

  void Handle(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes> message) {
    read->held = std::make_shared<AnswerResources>(parts_.service.ledger());
    if (message.ok()) read->id = InferIdOf((*message)->bytes);
    // A request whose id is longer than kMaxRequestIdBytes is rejected. The id is cleared, because it would otherwise
    // stay in memory until the client reads the answer.
    if (read->id.size() > kMaxRequestIdBytes) read->id.clear();
    CallContext call;
    absl::StatusOr<ReceivedInfer> request = Read(*read, std::move(message), call);
    if (!read->id.empty()) call.request_id = read->id;
    const bool marks_final = request.ok() && AsksForFinalMark(request->message);
    Infer(parts_.service, std::move(request), std::move(call),
          [read, marks_final](absl::StatusOr<inference::ModelInferResponse> answer) {
            Answer(read, GrpcFrame(MessageOf(*read, std::move(answer), marks_final)));
          });
  }

  absl::StatusOr<ReceivedInfer> Read(InFlight& read, absl::StatusOr<MessageBytes> message, CallContext& call) {
    RETURN_IF_ERROR(Describe(read, Method::kModelInfer, call));
    RETURN_IF_ERROR(message.status());
    return ReadInfer(*std::move(message));
  }

  // `marks_final`: true to set the parameter that marks the last answer to a request. Each request has only one answer.
  static inference::ModelStreamInferResponse MessageOf(const InFlight& read,
                                                       absl::StatusOr<inference::ModelInferResponse> answer,
                                                       bool marks_final) {
    inference::ModelStreamInferResponse message;
    if (answer.ok()) {
      *message.mutable_infer_response() = *std::move(answer);
    } else {
      const absl::Status& refusal = answer.status();
      message.set_error_message(
          absl::StrCat(absl::StatusCodeToString(refusal.code()), ": ", ToGrpcStatus(refusal).message));
      message.mutable_infer_response()->set_id(read.id);
    }
    if (marks_final) (*message.mutable_infer_response()->mutable_parameters())[kFinalMark].set_bool_param(true);
    return message;
  }
};

}  // namespace

void AddInferCalls(GrpcServer& server, CallParts& parts) {
  ServedCall<InferKind>::AddTo(server, parts, "/inference.GRPCInferenceService/ModelInfer");
  AddStreamCall<StreamInferCall>(server, parts, kStream.method());
}

}  // namespace vitrine
