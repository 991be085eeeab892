// SPDX-License-Identifier: Apache-2.0
// The bidirectional ModelStreamInfer call.
#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/oip/infer.h"
#include "server/oip/oip_calls.h"
#include "server/request/out_of_memory.h"
#include "server/rpc/call_credentials.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/finish.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/wire.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/inference.GRPCInferenceService/ModelStreamInfer";

// One request at a time: read, computed, written, and only then the next is read, so that answers come in the order of
// the requests and a client that does not read its answers holds no more than one. The call keeps itself alive until
// every operation has come back; a request in flight keeps it alive too.
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
  void OnRequested(bool ok) {
    const auto keep = TakeSelf();
    if (!ok) return;
    queue_.Renew(PostModelStreamInfer, parts_);
    {
      MutexLock lock(mutex_);
      self_ = keep;
      tags_ = 2;  // done_ and finished_
    }
    const absl::Status opened = OrOutOfMemory([&]() -> absl::Status {
      credentials_ = CredentialsOf(context_);
      RETURN_IF_ERROR(Authorize().status());
      parts_.streams.Add(keep);
      return absl::OkStatus();
    });
    MutexLock lock(mutex_);
    if (!opened.ok()) End(opened);
    MaybeRead();
  }

  void OnRead(bool ok) {
    const auto keep = shared_from_this();
    {
      MutexLock lock(mutex_);
      reading_ = false;
      // The client has said all or is gone; or the request came too late and is neither accepted nor answered.
      if (!ok) End(absl::OkStatus());
      if (ended_) return Release();
      busy_ = true;
    }
    Handle();
  }

  // By the credentials that came with the call, as the rules are now.
  absl::StatusOr<Caller> Authorize() {
    absl::StatusOr<Caller> caller = parts_.identity.Authorize(kRpc, credentials_);
    parts_.service.metrics().server().CountAuthorization(caller.status().code());
    return caller;
  }

  // Without the lock: a refusal is answered before Infer returns.
  void Handle() {
    CallContext call;
    call.method = Method::kModelInfer;
    call.deadline = DeadlineOf(context_, parts_.service.clock());
    absl::StatusOr<inference::ModelInferRequest> request =
        OrOutOfMemory([&]() -> absl::StatusOr<inference::ModelInferRequest> {
          id_.clear();
          call.cancelled = NewCancelFlag();
          call.peer = context_.peer();
          call.trace = TraceOf(context_);
          // Anew for each request: a token that is taken away ends with its next request, not with the stream.
          const absl::StatusOr<Caller> caller = Authorize();
          call.caller = CallerOf(caller);
          RETURN_IF_ERROR(caller.status());
          RETURN_IF_ERROR(Unfold(bytes_, parts_.max_message_bytes));
          ASSIGN_OR_RETURN(inference::ModelInferRequest request, ParseInferRequest(bytes_));
          id_ = request.id();
          return request;
        });
    Infer(parts_.service, std::move(request), std::move(call),
          [self = shared_from_this()](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
            self->Answer(std::move(answer), std::move(held));
          });
  }

  CancelFlag NewCancelFlag() {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    MutexLock lock(mutex_);
    cancelled_ = cancelled;
    return cancelled;
  }

  grpc::ByteBuffer MessageOf(absl::StatusOr<inference::ModelInferResponse> answer) const {
    inference::ModelStreamInferResponse message;
    if (answer.ok()) {
      *message.mutable_infer_response() = *std::move(answer);
    } else {
      const absl::Status& refusal = answer.status();
      message.set_error_message(
          absl::StrCat(absl::StatusCodeToString(refusal.code()), ": ", ToGrpcStatus(refusal).error_message()));
      message.mutable_infer_response()->set_id(id_);
    }
    return ToBytes(message);
  }

  // On an executor's thread, or inside Handle. Never throws.
  void Answer(absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
    const auto message = [this](absl::StatusOr<inference::ModelInferResponse> answer) {
      return OrOutOfMemory([&]() -> absl::StatusOr<grpc::ByteBuffer> { return MessageOf(std::move(answer)); });
    };
    absl::StatusOr<grpc::ByteBuffer> bytes = message(std::move(answer));
    if (!bytes.ok()) bytes = message(bytes.status());
    MutexLock lock(mutex_);
    held_ = std::move(held);
    if (bytes.ok()) return stream_.Write(*bytes, &written_);
    // There is no memory to say that there is none: the end of the stream says it.
    Settle();
    End(OutOfMemoryError());
  }

  // The answer is out, or lost.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    busy_ = false;
    for (int i = 0; i < held_.requests; ++i) parts_.service.ledger().Answer();
    held_ = {};
  }

  void OnWritten(bool ok) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    Settle();
    if (!ok) End(absl::OkStatus());
    MaybeRead();
    MaybeFinish();
    Release();
  }

  void OnDone(bool) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    if (context_.IsCancelled()) {
      if (cancelled_ != nullptr) cancelled_->store(true, std::memory_order_release);
      End(absl::OkStatus());
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

  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (reading_ || busy_ || ended_) return;
    reading_ = true;
    stream_.Read(&bytes_, &read_);
  }

  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ended_ || busy_ || tags_ == 0 || std::exchange(finishing_, true)) return;
    FinishWith(status_, [this](const grpc::Status& status) { stream_.Finish(status, &finished_); });
  }

  // Lets go of the call when no operation is left. A request in flight still holds it.
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (tags_ > 0 || reading_ || busy_) return;
    parts_.streams.Remove(self_);
    self_.reset();  // whoever holds the lock keeps the call too
  }

  std::shared_ptr<StreamInferCall> TakeSelf() {
    MutexLock lock(mutex_);
    return std::move(self_);
  }

  CallParts& parts_;
  CallQueue& queue_;
  const LiveCall live_{parts_};
  MemberTag<StreamInferCall> requested_{*this, &StreamInferCall::OnRequested};
  MemberTag<StreamInferCall> read_{*this, &StreamInferCall::OnRead};
  MemberTag<StreamInferCall> written_{*this, &StreamInferCall::OnWritten};
  MemberTag<StreamInferCall> finished_{*this, &StreamInferCall::OnFinished};
  MemberTag<StreamInferCall> done_{*this, &StreamInferCall::OnDone};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer bytes_;   // of the read that is outstanding
  Credentials credentials_;  // constant after OnRequested
  std::string id_;           // of the request in flight

  Mutex mutex_;
  std::shared_ptr<StreamInferCall> self_ ABSL_GUARDED_BY(mutex_);  // set while gRPC holds a tag of this call
  CancelFlag cancelled_ ABSL_GUARDED_BY(mutex_);                   // of the request in flight
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  int tags_ ABSL_GUARDED_BY(mutex_) = 0;    // of done_ and finished_, those yet to come
  InferHeld held_ ABSL_GUARDED_BY(mutex_);  // of the answer being written
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;       // a request is being computed, or its answer written
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;      // no further request is taken
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
};

}  // namespace

void PostModelStreamInfer(CallParts& parts, CallQueue& queue) {
  auto call = std::make_shared<StreamInferCall>(parts, queue);
  queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
}

}  // namespace vitrine
