// SPDX-License-Identifier: Apache-2.0
// The bidirectional ClassifyStream call.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/stream_call.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/vitrine.v1.Classifier/ClassifyStream";

class ClassifyStreamCall final : public StreamCall {
 public:
  ClassifyStreamCall(CallParts& parts, CallQueue& queue)
      : StreamCall(parts, queue, kRpc, PostClassifyStream, Order::kAsAnswered) {}

 private:
  void Ask(grpc::ServerCompletionQueue* cq) override {
    parts_.classifier_rpc.RequestClassifyStream(&context_, &stream_, cq, cq, &requested_);
  }

  void Submit(std::shared_ptr<InFlight> read) override {
    absl::Status unfolded;
    const absl::Status named = OrOutOfMemory([&] {
      unfolded = Unfold(bytes_, parts_.max_message_bytes);
      if (unfolded.ok()) read->id = RequestIdOf(bytes_);
      return absl::OkStatus();
    });
    if (!named.ok()) {  // and an answer without its id would answer nothing
      parts_.service.ledger().Accept();
      return AnswerWith(*read, named);
    }
    CallContext call = ContextOf(*read, Method::kClassifyStream);
    absl::StatusOr<v1::ClassifyRequest> request = OrOutOfMemory([&] { return Read(*read, unfolded, call); });
    bytes_.Clear();
    // It holds two pointers and no more, for which a callback takes no memory.
    parts_.service.Classify(std::move(request), std::move(call),
                            [read = std::move(read)](absl::StatusOr<v1::ClassifyResponse> answer) {
                              Answer(*read, std::move(answer), MessageOf);
                            });
  }

  // Parses what was read, if it could be unfolded.
  absl::StatusOr<v1::ClassifyRequest> Read(InFlight& read, const absl::Status& unfolded, CallContext& call) {
    call.room = read.rooms.emplace_back(std::make_shared<HeldRoom>());
    const absl::Status bounded = BoundId(read);
    RETURN_IF_ERROR(origin_.Describe(call));
    RETURN_IF_ERROR(bounded);
    RETURN_IF_ERROR(unfolded);
    ASSIGN_OR_RETURN(v1::ClassifyRequest request, ReadRequest(parts_.service, bytes_, call));
    if (read.id.empty()) {
      return absl::InvalidArgumentError("request_id is empty; answers of a stream are matched by it");
    }
    if (IsIdTaken(read)) {  // the client may use it again as soon as it has read the answer
      return absl::InvalidArgumentError(
          absl::StrCat("request_id \"", read.id, "\" is in flight on this stream already; ids must differ"));
    }
    return request;
  }

  // A longer one is neither kept nor echoed: sixty-four answers may wait for a client that does not read.
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

void PostClassifyStream(CallParts& parts, CallQueue& queue) {
  PostStreamCall<ClassifyStreamCall>(parts, queue);
}

}  // namespace vitrine
