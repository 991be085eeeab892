// SPDX-License-Identifier: Apache-2.0
// The bidirectional ModelStreamInfer call.
#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/oip/infer.h"
#include "server/wire/oip/oip_calls.h"
#include "server/wire/rpc/finish.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/stream_limits.h"
#include "server/wire/rpc/stream_origin.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/inference.GRPCInferenceService/ModelStreamInfer";

// Reads, answers and writes overlap as in ClassifyStream and within the same bounds, but answers are written in the
// order of the requests, which clients of the protocol may count on. The call keeps itself alive until every operation
// has come back; a request in flight keeps it alive too.
class StreamInferCall : public LongCall, public std::enable_shared_from_this<StreamInferCall> {
 public:
  StreamInferCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) {
    context_.AsyncNotifyWhenDone(&done_);
  }

  // Holds the lock, so that the call comes back when it keeps itself; and it does not if asking throws.
  void Request(grpc::ServerCompletionQueue* cq) {
    MutexLock lock(mutex_);
    parts_.oip_rpc.RequestModelStreamInfer(&context_, &stream_, cq, cq, &requested_);
    self_ = shared_from_this();
  }

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

  void OnRequested(bool ok) {
    const auto keep = TakeSelf();
    if (!ok) return;
    queue_.Renew(PostModelStreamInfer, parts_);
    {
      MutexLock lock(mutex_);
      self_ = keep;
      tags_ = 2;  // done_ and finished_
    }
    const absl::Status opened = origin_.Open(parts_, kRpc, context_, keep);
    MutexLock lock(mutex_);
    if (!opened.ok()) End(opened);
    MaybeRead();
  }

  void OnRead(bool ok) {
    const auto keep = shared_from_this();
    std::shared_ptr<InFlight> read;
    {
      MutexLock lock(mutex_);
      reading_ = false;
      // The client has said all or is gone; or the request came too late and is neither accepted nor answered.
      if (!ok) End(absl::OkStatus());
      if (ended_) return Release();
      read = Line();
      if (read == nullptr) {
        parts_.service.ledger().Accept();
        parts_.service.ledger().Answer();
        Lose();
        MaybeFinish();
        return Release();
      }
    }
    Handle(std::move(read));
    MutexLock lock(mutex_);
    MaybeRead();
  }

  // A place behind those in flight; null if there is no memory for it.
  std::shared_ptr<InFlight> Line() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    try {
      in_flight_.push_back(std::make_shared<InFlight>(InFlight{shared_from_this()}));
      return in_flight_.back();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  // Without the lock: a refusal is answered before Infer returns.
  void Handle(std::shared_ptr<InFlight> read) {
    CallContext call;
    call.method = Method::kModelInfer;
    call.deadline = origin_.deadline();
    call.cancelled = cancelled_;
    absl::StatusOr<inference::ModelInferRequest> request = OrOutOfMemory([&] { return Take(*read, call); });
    bytes_.Clear();
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
    ASSIGN_OR_RETURN(inference::ModelInferRequest request, ParseInferRequest(bytes_));
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

  void OnWritten(bool ok) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    writing_ = false;
    Settle();
    if (!ok) Break();
    Continue();
    MaybeRead();
    Release();
  }

  void OnDone(bool) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    if (context_.IsCancelled()) {
      cancelled_->store(true, std::memory_order_release);
      Break();
      Continue();
    }
    --tags_;
    Release();
  }

  void OnFinished(bool) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    --tags_;
    Release();
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

  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (reading_ || ended_) return;
    if (in_flight_.size() >= kMaxInFlight || answer_bytes_ >= kMaxAnswerBytes) return;
    reading_ = true;
    stream_.Read(&bytes_, &read_);
  }

  // Writes the first answer, if it is there, or drops those that nobody takes.
  void Continue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_) return;
    if (!in_flight_.empty() && in_flight_.front()->lost) {  // no later answer may stand in its place
      cancelled_->store(true, std::memory_order_release);
      Break();
    }
    while (broken_ && !in_flight_.empty() && in_flight_.front()->answered) Settle();
    if (!broken_ && !in_flight_.empty() && in_flight_.front()->answered) {
      writing_ = true;
      stream_.Write(in_flight_.front()->answer, &written_);
    }
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
    if (!ended_ || !in_flight_.empty() || tags_ == 0 || std::exchange(finishing_, true)) return;
    FinishWith(status_, [this](const grpc::Status& status) { stream_.Finish(status, &finished_); });
  }

  // Lets go of the call when no operation is left. A request in flight still holds it.
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (tags_ > 0 || reading_ || writing_) return;
    parts_.streams.Remove(self_);
    self_.reset();  // whoever holds the lock keeps the call too
  }

  std::shared_ptr<StreamInferCall> TakeSelf() {
    MutexLock lock(mutex_);
    return std::move(self_);
  }

  CallParts& parts_;
  CallQueue& queue_;
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);
  const LiveCall live_{parts_};
  MemberTag<StreamInferCall> requested_{*this, &StreamInferCall::OnRequested};
  MemberTag<StreamInferCall> read_{*this, &StreamInferCall::OnRead};
  MemberTag<StreamInferCall> written_{*this, &StreamInferCall::OnWritten};
  MemberTag<StreamInferCall> finished_{*this, &StreamInferCall::OnFinished};
  MemberTag<StreamInferCall> done_{*this, &StreamInferCall::OnDone};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer bytes_;  // of the read that is outstanding
  StreamOrigin origin_;     // constant after OnRequested

  Mutex mutex_;
  std::shared_ptr<StreamInferCall> self_ ABSL_GUARDED_BY(mutex_);  // set while gRPC holds a tag of this call
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<InFlight>> in_flight_ ABSL_GUARDED_BY(mutex_);  // in the order of the requests
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // not yet written, and promised to requests in flight
  int tags_ ABSL_GUARDED_BY(mutex_) = 0;              // of done_ and finished_, those yet to come
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;    // the first of in_flight_
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;      // no further request is taken
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;     // nothing more reaches the client
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
};

}  // namespace

void PostModelStreamInfer(CallParts& parts, CallQueue& queue) {
  auto call = std::make_shared<StreamInferCall>(parts, queue);
  queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
}

}  // namespace vitrine
