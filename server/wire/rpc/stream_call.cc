// SPDX-License-Identifier: Apache-2.0
// The bidirectional ClassifyStream call.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/rpc/bidi_call.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/vitrine.v1.Classifier/ClassifyStream";

// Answers are written as they come.
class StreamCall final : public BidiCall {
 public:
  StreamCall(CallParts& parts, CallQueue& queue) : BidiCall(parts, queue, kRpc, PostClassifyStream) {}

  void Close() override {
    MutexLock lock(mutex_);
    closing_ = true;
    MaybeFinish();
  }

 private:
  // An answer that the client has not taken yet, and its room in the budget of answers.
  struct Waiting {
    grpc::ByteBuffer bytes;
    std::shared_ptr<HeldRoom> room;
  };

  // A request that was read and is not answered.
  struct InFlight {
    const std::shared_ptr<StreamCall> call;
    std::string id = {};
    bool tracked = false;  // `id` is in ids_
    int64_t promised = 0;  // bytes of the answer beside its few hundred of predictions
    const std::shared_ptr<HeldRoom> room = std::make_shared<HeldRoom>();
  };

  void Ask(grpc::ServerCompletionQueue* cq) override {
    parts_.classifier_rpc.RequestClassifyStream(&context_, &stream_, cq, cq, &requested_);
  }

  void OnOpened(absl::Status opened) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    refused_ = std::move(opened);
    MaybeFinish();
  }

  bool OnMessage(bool ok) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finishing_) return false;  // came too late: it is neither accepted nor answered
    if (!ok) {
      half_closed_ = true;
      MaybeFinish();
      return false;
    }
    ++in_flight_;
    return true;
  }

  // Submits the request that was read. Without the lock: a refusal is answered before Classify returns.
  void Handle() override {
    std::shared_ptr<InFlight> read;
    absl::Status unfolded;
    const absl::Status named = OrOutOfMemory([&] {
      read = std::make_shared<InFlight>(InFlight{std::static_pointer_cast<StreamCall>(shared_from_this())});
      unfolded = Unfold(bytes_, parts_.max_message_bytes);
      if (unfolded.ok()) read->id = RequestIdOf(bytes_);
      return absl::OkStatus();
    });
    if (!named.ok()) {  // and an answer without its id would answer nothing
      parts_.service.ledger().Accept();
      MutexLock lock(mutex_);
      return Lose(0);
    }
    CallContext call = {.method = Method::kClassifyStream, .deadline = origin_.deadline(), .cancelled = cancelled_};
    absl::StatusOr<v1::ClassifyRequest> request = OrOutOfMemory([&] { return Take(*read, unfolded, call); });
    bytes_.Clear();
    // It holds two pointers and no more, for which a callback takes no memory.
    parts_.service.Classify(std::move(request), std::move(call),
                            [read = std::move(read)](absl::StatusOr<v1::ClassifyResponse> answer) {
                              read->call->Answer(*read, std::move(answer));
                            });
  }

  // Parses what was read, if it could be unfolded, and notes what its answer needs.
  absl::StatusOr<v1::ClassifyRequest> Take(InFlight& read, const absl::Status& unfolded, CallContext& call) {
    origin_.Describe(call);
    call.room = read.room;
    call.planned = [this, &read](int64_t bytes) {
      MutexLock lock(mutex_);
      read.promised = bytes;
      answer_bytes_ += bytes;
    };
    const absl::StatusOr<Caller> caller = origin_.Authorize();
    call.caller = CallerOf(caller);
    absl::StatusOr<v1::ClassifyRequest> request = !unfolded.ok() ? absl::StatusOr<v1::ClassifyRequest>(unfolded)
                                                  : caller.ok()  ? ReadRequest(parts_.service, bytes_, call)
                                                                 : ParseRequest(bytes_);
    const absl::Status tracked = Track(read, request.status());
    RETURN_IF_ERROR(caller.status());
    RETURN_IF_ERROR(tracked);
    return request;
  }

  absl::Status Track(InFlight& read, const absl::Status& parsed) {
    if (read.id.size() > kMaxRequestIdBytes) {
      // Not kept and not echoed: sixty-four answers may wait for a client that does not read.
      const size_t size = std::exchange(read.id, std::string()).size();
      return absl::InvalidArgumentError(
          absl::StrCat("a request_id is ", size, " bytes long; at most ", kMaxRequestIdBytes, " are allowed"));
    }
    RETURN_IF_ERROR(parsed);
    if (read.id.empty()) {
      return absl::InvalidArgumentError("request_id is empty; answers of a stream are matched by it");
    }
    MutexLock lock(mutex_);
    if (!ids_.insert(read.id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("request_id \"", read.id, "\" is in flight on this stream already; ids must differ"));
    }
    read.tracked = true;
    return absl::OkStatus();
  }

  static grpc::ByteBuffer MessageOf(const InFlight& read, absl::StatusOr<v1::ClassifyResponse> answer) {
    v1::ClassifyStreamResponse message;
    message.set_request_id(read.id);
    if (answer.ok()) {
      *message.mutable_response() = *std::move(answer);
    } else {
      *message.mutable_error() = ToStreamError(answer.status());
    }
    return ToBytes(message);
  }

  // On an executor's thread, or inside Handle. Never throws.
  void Answer(const InFlight& read, absl::StatusOr<v1::ClassifyResponse> answer) {
    const auto message = [&read](absl::StatusOr<v1::ClassifyResponse> answer) {
      return OrOutOfMemory([&]() -> absl::StatusOr<grpc::ByteBuffer> { return MessageOf(read, std::move(answer)); });
    };
    absl::StatusOr<grpc::ByteBuffer> bytes = message(std::move(answer));
    if (!bytes.ok()) bytes = message(bytes.status());
    MutexLock lock(mutex_);
    // The client may use the id again as soon as it has read the answer.
    if (read.tracked) ids_.erase(read.id);
    if (!bytes.ok() || !Queue({*std::move(bytes), read.room}, read.promised)) return Lose(read.promised);
    if (broken_) DropAnswers();
    MaybeWrite();
    MaybeFinish();
  }

  // False if there is no memory for it.
  bool Queue(Waiting answer, int64_t promised) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto bytes = static_cast<int64_t>(answer.bytes.Length());
    try {
      answers_.push_back(std::move(answer));
    } catch (const std::bad_alloc&) {
      return false;
    }
    answer_bytes_ += bytes - promised;
    return true;
  }

  void OnSent(bool ok) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Settle(std::exchange(writing_bytes_, 0));
    writing_room_.reset();
    if (!ok) broken_ = true;
    if (broken_) DropAnswers();
    MaybeWrite();
    MaybeRead();
    MaybeFinish();
  }

  void OnLeft() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    broken_ = true;
    DropAnswers();
    MaybeFinish();
  }

  bool MayRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (half_closed_ || broken_ || closing_ || finishing_ || !refused_.ok()) return false;
    return in_flight_ < kMaxInFlight && answer_bytes_ < kMaxAnswerBytes;
  }

  void MaybeWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || answers_.empty()) return;
    writing_bytes_ = static_cast<int64_t>(answers_.front().bytes.Length());
    writing_room_ = std::move(answers_.front().room);
    Write(answers_.front().bytes);
    answers_.pop_front();
  }

  // There is no memory to say that there is none: the end of the stream says it.
  void Lose(int64_t promised) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CountOutOfMemory();
    refused_ = OutOfMemoryError();
    Settle(promised);
    MaybeFinish();
  }

  // An answer is out, or lost with its client.
  void Settle(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    --in_flight_;
    answer_bytes_ -= bytes;
    parts_.service.ledger().Answer();
  }

  void DropAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (; !answers_.empty(); answers_.pop_front()) Settle(static_cast<int64_t>(answers_.front().bytes.Length()));
  }

  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool ended = half_closed_ || broken_ || closing_ || !refused_.ok();
    if (!ended || finishing_ || in_flight_ > 0) return;
    Finish(!refused_.ok() ? refused_ : half_closed_ || broken_ ? absl::OkStatus() : DrainingError());
  }

  absl::Status refused_ ABSL_GUARDED_BY(mutex_);  // not OK: nothing more is read, and the stream ends so
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;             // not yet written, and promised to requests in flight
  int64_t writing_bytes_ ABSL_GUARDED_BY(mutex_) = 0;            // of these, what gRPC is writing
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;             // nothing more comes from the client
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;                  // nothing more reaches the client
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;                 // the server wants to end the call
  std::unordered_set<std::string> ids_ ABSL_GUARDED_BY(mutex_);  // not Abseil's, which std::bad_alloc breaks
  std::deque<Waiting> answers_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<HeldRoom> writing_room_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void PostClassifyStream(CallParts& parts, CallQueue& queue) {
  PostBidiCall<StreamCall>(parts, queue);
}

}  // namespace vitrine
