// SPDX-License-Identifier: Apache-2.0
// The bidirectional ModelStreamInfer call.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/bidi_call.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/inference.GRPCInferenceService/ModelStreamInfer";

// As ClassifyStream and within the same bounds, but answers are written in the order of the requests, which clients of
// the protocol may count on.
class StreamInferCall final : public BidiCall {
 public:
  StreamInferCall(CallParts& parts, CallQueue& queue) : BidiCall(parts, queue, kRpc, PostModelStreamInfer) {}

  void Close() override {
    MutexLock lock(mutex_);
    End(DrainingError());
  }

 private:
  // A request that was read, until its answer is written.
  struct InFlight {
    const std::shared_ptr<StreamInferCall> call;
    std::string id = {};  // before it is submitted; the rest is guarded by the call's mutex
    bool answered = false;
    bool lost = false;  // answered, but there was no memory for the answer
    grpc::ByteBuffer answer = {};
    int64_t bytes = 0;  // in answer_bytes_: what the answer may take, then what it takes
    InferHeld held = {};
  };

  void Ask(grpc::ServerCompletionQueue* cq) override {
    parts_.oip_rpc.RequestModelStreamInfer(&context_, &stream_, cq, cq, &requested_);
  }

  void OnOpened(absl::Status opened) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!opened.ok()) End(std::move(opened));
  }

  bool OnMessage(bool ok) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ok) End(absl::OkStatus());
    if (ended_) return false;  // what came too late is neither accepted nor answered
    read_ = Line();
    if (read_ != nullptr) return true;
    parts_.service.ledger().Accept();
    parts_.service.ledger().Answer();
    Lose();
    MaybeFinish();
    return false;
  }

  // A place behind those in flight; null if there is no memory for it.
  std::shared_ptr<InFlight> Line() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    try {
      in_flight_.push_back(
          std::make_shared<InFlight>(InFlight{std::static_pointer_cast<StreamInferCall>(shared_from_this())}));
      return in_flight_.back();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  void Handle() override {
    std::shared_ptr<InFlight> read = std::move(read_);
    CallContext call;
    call.method = Method::kModelInfer;
    call.deadline = origin_.deadline();
    call.cancelled = cancelled_;
    absl::StatusOr<inference::ModelInferRequest> request = OrOutOfMemory([&] { return Take(*read, call); });
    bytes_.Clear();
    // It holds two pointers and no more, for which a callback takes no memory.
    Infer(parts_.service, std::move(request), std::move(call),
          [read = std::move(read)](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
            read->call->Answer(*read, std::move(answer), std::move(held));
          });
  }

  // Parses what was read, and notes what its answer needs.
  absl::StatusOr<inference::ModelInferRequest> Take(InFlight& read, CallContext& call) {
    origin_.Describe(call);
    call.planned = [this, &read](int64_t bytes) {
      MutexLock lock(mutex_);
      read.bytes += bytes;
      answer_bytes_ += bytes;
    };
    const absl::StatusOr<Caller> caller = origin_.Authorize();
    call.caller = CallerOf(caller);
    RETURN_IF_ERROR(caller.status());
    RETURN_IF_ERROR(Unfold(bytes_, parts_.max_message_bytes));
    ASSIGN_OR_RETURN(inference::ModelInferRequest request, ReadInfer(parts_.service, bytes_, call));
    // A longer one is refused; it is not kept until the client reads.
    if (request.id().size() <= kMaxRequestIdBytes) read.id = request.id();
    return request;
  }

  static grpc::ByteBuffer MessageOf(const InFlight& read, absl::StatusOr<inference::ModelInferResponse> answer) {
    inference::ModelStreamInferResponse message;
    if (answer.ok()) {
      *message.mutable_infer_response() = *std::move(answer);
    } else {
      const absl::Status& refusal = answer.status();
      message.set_error_message(
          absl::StrCat(absl::StatusCodeToString(refusal.code()), ": ", ToGrpcStatus(refusal).error_message()));
      message.mutable_infer_response()->set_id(read.id);
    }
    return ToBytes(message);
  }

  // On an executor's thread, or inside Handle. Never throws.
  void Answer(InFlight& read, absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
    const auto message = [&read](absl::StatusOr<inference::ModelInferResponse> answer) {
      return OrOutOfMemory([&]() -> absl::StatusOr<grpc::ByteBuffer> { return MessageOf(read, std::move(answer)); });
    };
    absl::StatusOr<grpc::ByteBuffer> bytes = message(std::move(answer));
    if (!bytes.ok()) bytes = message(bytes.status());
    MutexLock lock(mutex_);
    read.answered = true;
    read.held = std::move(held);
    if (bytes.ok()) {
      const auto size = static_cast<int64_t>(bytes->Length());
      answer_bytes_ += size - std::exchange(read.bytes, size);
      read.answer = *std::move(bytes);
    } else {
      read.lost = true;
      Lose();
    }
    Continue();
  }

  void OnSent(bool ok) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Settle();
    if (!ok) Break();
    Continue();
    MaybeRead();
  }

  void OnLeft() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Break();
    Continue();
  }

  // No further request is taken. The first reason is the status.
  void End(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(ended_, true)) status_ = std::move(status);
    MaybeFinish();
  }

  // Nothing more reaches the client.
  void Break() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    broken_ = true;
    End(absl::OkStatus());
  }

  // There is no memory to say that there is none: the end of the stream says it, whatever ended it before.
  void Lose() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CountOutOfMemory();
    ended_ = true;
    status_ = OutOfMemoryError();
  }

  bool MayRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !ended_ && in_flight_.size() < kMaxInFlight && answer_bytes_ < kMaxAnswerBytes;
  }

  // Writes the first answer, if it is there, or drops those that nobody takes.
  void Continue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_) return;
    if (!in_flight_.empty() && in_flight_.front()->lost) {  // no later answer may stand in its place
      cancelled_->store(true, std::memory_order_release);
      Break();
    }
    while (broken_ && !in_flight_.empty() && in_flight_.front()->answered) Settle();
    if (!broken_ && !in_flight_.empty() && in_flight_.front()->answered) Write(in_flight_.front()->answer);
    MaybeFinish();
  }

  // The first answer is out, or lost.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const InFlight& first = *in_flight_.front();
    for (int i = 0; i < first.held.requests; ++i) parts_.service.ledger().Answer();
    answer_bytes_ -= first.bytes;
    in_flight_.pop_front();
  }

  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_ && in_flight_.empty() && !finishing_) Finish(status_);
  }

  std::shared_ptr<InFlight> read_;  // by OnMessage, for Handle

  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<InFlight>> in_flight_ ABSL_GUARDED_BY(mutex_);  // in the order of the requests
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // not yet written, and promised to requests in flight
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;        // no further request is taken
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;       // nothing more reaches the client
};

}  // namespace

void PostModelStreamInfer(CallParts& parts, CallQueue& queue) {
  PostBidiCall<StreamInferCall>(parts, queue);
}

}  // namespace vitrine
