// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_BIDI_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_BIDI_CALL_H_

#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/wire/rpc/call_origin.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_status.h"

namespace vitrine {

// Requests of one stream that are read and not yet written back. The server reads no further, so that a client that
// does not read its answers holds only these.
inline constexpr int kMaxInFlight = 64;
// The same in bytes: of the answers that are not yet written, and of what those to come may add. One request more is
// read, whatever its answer takes.
inline constexpr int64_t kMaxAnswerBytes = int64_t{8} << 20;

// A raw bidirectional call. Reads, answers and writes overlap: one read and one write are outstanding at most. The call
// keeps itself alive until every operation has come back; a request in flight keeps it alive too. What a kind of call
// adds runs on the queue's thread, and must not throw.
class BidiCall : public LongCall, public std::enable_shared_from_this<BidiCall> {
 public:
  // `post` asks for the next call of this kind.
  BidiCall(CallParts& parts, CallQueue& queue, RpcName rpc, CallQueue::Ask post)
      : parts_(parts), queue_(queue), rpc_(rpc), post_(post) {
    context_.AsyncNotifyWhenDone(&done_);
  }

  // Holds the lock, so that the call comes back when it keeps itself; and it does not if asking throws.
  void Request(grpc::ServerCompletionQueue* cq) {
    MutexLock lock(mutex_);
    Ask(cq);
    self_ = shared_from_this();
  }

 protected:
  // Asks gRPC for a call, with requested_ as its tag.
  virtual void Ask(grpc::ServerCompletionQueue* cq) = 0;
  // The call has come; it is to end with `opened` unless that is OK. Reading begins behind this.
  virtual void OnOpened(absl::Status opened) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  virtual bool MayRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // A read has ended, without a message where it is not `ok`: the client has said all, or is gone. Whether Handle shall
  // take what is in bytes_.
  virtual bool OnMessage(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Without the lock: a refusal is answered on the way.
  virtual void Handle() = 0;
  // A write has ended; nothing more reaches the client where it is not `ok`.
  virtual void OnSent(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // The client has left.
  virtual void OnLeft() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (reading_ || !MayRead()) return;
    reading_ = true;
    stream_.Read(&bytes_, &read_);
  }
  // Requires that no write is outstanding.
  void Write(const grpc::ByteBuffer& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    stream_.Write(bytes, &written_);
  }
  // Once, with no write outstanding and none to come.
  void Finish(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finishing_ = true;
    FinishWith(status, [this](const grpc::Status& status) { stream_.Finish(status, &finished_); });
  }

 private:
  void OnRequested(bool ok) {
    const std::shared_ptr<BidiCall> keep = TakeSelf();
    if (!ok) return;
    queue_.Renew(post_, parts_);
    {
      MutexLock lock(mutex_);
      self_ = keep;
      tags_ = 2;  // done_ and finished_
    }
    absl::Status opened = origin_.Open(parts_, rpc_, context_, keep);
    MutexLock lock(mutex_);
    OnOpened(std::move(opened));
    MaybeRead();
  }

  void OnRead(bool ok) {
    const auto keep = shared_from_this();
    {
      MutexLock lock(mutex_);
      reading_ = false;
      if (!OnMessage(ok)) return Release();
    }
    Handle();
    MutexLock lock(mutex_);
    MaybeRead();
  }

  void OnWritten(bool ok) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    writing_ = false;
    OnSent(ok);
    Release();
  }

  void OnDone(bool) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    if (context_.IsCancelled()) {
      cancelled_->store(true, std::memory_order_release);
      OnLeft();
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

  // Lets go of the call when no operation is left. Requests in flight still hold it.
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (tags_ > 0 || reading_ || writing_) return;
    parts_.streams.Remove(self_);
    self_.reset();  // whoever holds the lock keeps the call too
  }

  std::shared_ptr<BidiCall> TakeSelf() {
    MutexLock lock(mutex_);
    return std::move(self_);
  }

 protected:
  CallParts& parts_;
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);  // set when the client leaves

 private:
  CallQueue& queue_;
  const RpcName rpc_;
  const CallQueue::Ask post_;
  const LiveCall live_{parts_};
  MemberTag<BidiCall> read_{*this, &BidiCall::OnRead};
  MemberTag<BidiCall> written_{*this, &BidiCall::OnWritten};
  MemberTag<BidiCall> finished_{*this, &BidiCall::OnFinished};
  MemberTag<BidiCall> done_{*this, &BidiCall::OnDone};

 protected:
  MemberTag<BidiCall> requested_{*this, &BidiCall::OnRequested};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer bytes_;  // of the read that is outstanding
  StreamOrigin origin_;     // constant after OnRequested

  Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called

 private:
  std::shared_ptr<BidiCall> self_ ABSL_GUARDED_BY(mutex_);  // set while gRPC holds a tag of this call
  int tags_ ABSL_GUARDED_BY(mutex_) = 0;                    // of done_ and finished_, those yet to come
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
};

template <typename Call>
void PostBidiCall(CallParts& parts, CallQueue& queue) {
  auto call = std::make_shared<Call>(parts, queue);
  queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_BIDI_CALL_H_
