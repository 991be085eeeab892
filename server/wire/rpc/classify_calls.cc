// SPDX-License-Identifier: Apache-2.0
// Calls of the Classifier service.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/request_id.h"
#include "common/status_macros.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/message/read_message.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/single_call.h"
#include "server/wire/rpc/stream_call.h"

namespace vitrine {
namespace {

struct ClassifyKind {
  static constexpr Method kMethod = Method::kClassify;
  using Received = ReceivedClassify;
  using Response = v1::ClassifyResponse;
  static bool IsSlow(std::string_view) { return false; }  // a message has at most 64 KiB besides the image
  static absl::StatusOr<Received> Read(MessageBytes bytes, const HttpRequest& call) {
    ASSIGN_OR_RETURN(Received read, ReadClassify(std::move(bytes)));
    if (read.message.request_id().empty()) read.message.set_request_id(RequestIdOf(call.head).value_or(""));
    return read;
  }
  template <typename Done>
  static void Submit(ClassifyService& service, absl::StatusOr<Received> request, CallContext&& call, Done done) {
    service.Classify(std::move(request), std::move(call), std::move(done));
  }
};

constexpr RpcName kStream = "/vitrine.v1.Classifier/ClassifyStream";

class ClassifyStreamCall final : public StreamCall {
 public:
  ClassifyStreamCall(CallParts& parts, const GrpcOpening& opening)
      : StreamCall(parts, kStream, opening, opening.server.options().max_message_bytes, Order::kAsAnswered) {}

 private:
  void Submit(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes> message) override {
    read->held = std::make_shared<AnswerResources>(parts_.service.ledger());
    if (message.ok()) read->id = RequestIdOf((*message)->bytes);
    CallContext call;
    absl::StatusOr<ReceivedClassify> request = Read(*read, std::move(message), call);
    if (!read->id.empty()) call.request_id = read->id;
    parts_.service.Classify(std::move(request), std::move(call), [read](absl::StatusOr<v1::ClassifyResponse> answer) {
      Answer(read, GrpcFrame(MessageOf(*read, std::move(answer))));
    });
  }

  absl::StatusOr<ReceivedClassify> Read(InFlight& read, absl::StatusOr<MessageBytes> message, CallContext& call) {
    const absl::Status bounded = BoundId(read);
    RETURN_IF_ERROR(Describe(read, Method::kClassifyStream, call));
    RETURN_IF_ERROR(bounded);
    RETURN_IF_ERROR(message.status());
    ASSIGN_OR_RETURN(ReceivedClassify request, ReadClassify(*std::move(message)));
    if (read.id.empty()) {
      return absl::InvalidArgumentError("request_id is empty; answers of a stream are matched by it");
    }
    if (IsIdTaken(read)) {  // the id of a request can be used again once its answer is sent
      return absl::InvalidArgumentError(
          absl::StrCat("request_id \"", read.id, "\" is already in flight on this stream; ids must differ"));
    }
    return request;
  }

  // Clears an id that is too long, so that the answer does not contain it: up to kMaxInFlight answers may wait in
  // memory for a slow client.
  static absl::Status BoundId(InFlight& read) {
    if (read.id.size() <= kMaxRequestIdBytes) return absl::OkStatus();
    const size_t size = std::exchange(read.id, std::string()).size();
    return absl::InvalidArgumentError(
        absl::StrCat("a request_id is ", size, " bytes long; at most ", kMaxRequestIdBytes, " are allowed"));
  }

  static v1::ClassifyStreamResponse MessageOf(const InFlight& read, absl::StatusOr<v1::ClassifyResponse> answer) {
    v1::ClassifyStreamResponse message;
    message.set_request_id(read.id);
    if (answer.ok()) {
      *message.mutable_response() = *std::move(answer);
    } else {
      *message.mutable_error() = ToStreamError(answer.status());
    }
    return message;
  }
};

}  // namespace

void AddClassifierCalls(GrpcServer& server, CallParts& parts) {
  ServedCall<ClassifyKind>::AddTo(server, parts, "/vitrine.v1.Classifier/Classify");
  AddStreamCall<ClassifyStreamCall>(server, parts, kStream.method());
}

}  // namespace vitrine
