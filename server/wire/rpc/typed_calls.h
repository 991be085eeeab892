// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_TYPED_CALLS_H_
#define VITRINE_SERVER_WIRE_RPC_TYPED_CALLS_H_

#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/wire/rpc/call_origin.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/unary_call.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {

// A unary call that is answered at once, on the queue's thread. RpcMethod has
//   kName       "/package.Service/Method"
//   Request, Response
//   Post(parts, context, bytes, writer, queue, tag)   asks gRPC for a call, raw: see wire.h
//   Handle(parts, caller, request) or Handle(parts, request)   a StatusOr of the response
template <typename RpcMethod>
class PlainCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

  void Request(grpc::ServerCompletionQueue* cq) override {
    RpcMethod::Post(parts_, &context_, &bytes_, &writer_, cq, &requested_);
  }

 private:
  void Serve() override {
    queue_.Renew(&PostUnaryCall<PlainCall>, parts_);
    Answer(OrOutOfMemory([this] { return Respond(); }));
  }
  void OnAnswered() override {}

  absl::StatusOr<typename RpcMethod::Response> Respond() {
    static constexpr RpcName kRpc(RpcMethod::kName);  // does not compile without a row in kMethodPolicies
    ASSIGN_OR_RETURN(const Caller caller, Authorize(parts_, kRpc, context_));
    typename RpcMethod::Request request;
    RETURN_IF_ERROR(Unfold(bytes_, std::min(parts_.max_message_bytes, kMostUnfoldedNames)));
    RETURN_IF_ERROR(ParseMessage(bytes_, request));
    if constexpr (requires { RpcMethod::Handle(parts_, caller, request); }) {
      return RpcMethod::Handle(parts_, caller, request);
    } else {
      return RpcMethod::Handle(parts_, request);
    }
  }
};

// Longest name that a health check or a watcher may ask for; no model or service has a longer one.
inline constexpr size_t kMaxAskedName = 128;

inline absl::Status CheckAskedName(const std::string& what, const std::string& name) {
  if (name.size() <= kMaxAskedName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " is ", name.size(), " bytes long; names have at most ", kMaxAskedName));
}

// Events that a watcher has not read yet. A client that falls further behind is sent away.
inline constexpr size_t kMaxWaitingEvents = 4096;

// A call that sends events until the client leaves. Keeps itself alive until every operation has come back and the
// source has let go of it. RpcMethod has kName, Request, Response and Post as above, and
//   Subscribe(parts, caller, request, listener)   an id above 0; the listener takes a Response, on any thread
//   Unsubscribe(parts, id)                after which the listener is not called again
//   Check(request)                        whether the request can be right, before any other look at it
// The request is let go of once it is subscribed: a watcher holds no memory beyond its events.
template <typename RpcMethod>
class WatchCall : public LongCall, public std::enable_shared_from_this<WatchCall<RpcMethod>> {
 public:
  using Event = typename RpcMethod::Response;

  static void Post(CallParts& parts, CallQueue& queue) {
    auto call = std::make_shared<WatchCall>(parts, queue);
    queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
  }

  WatchCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) { context_.AsyncNotifyWhenDone(&done_); }

  void Request(grpc::ServerCompletionQueue* cq) {
    RpcMethod::Post(parts_, &context_, &bytes_, &writer_, cq, &requested_);
    self_ = this->shared_from_this();
  }

  void Close() override {
    MutexLock lock(mutex_);
    End(DrainingError());
  }

 private:
  void OnRequested(bool ok) {
    if (!ok) return self_.reset();
    queue_.Renew(&WatchCall::Post, parts_);
    const absl::Status opened = OrOutOfMemory([this] { return Open(); });
    if (opened.ok()) return;
    MutexLock lock(mutex_);
    End(opened);
  }

  absl::Status Open() {
    static constexpr RpcName kRpc(RpcMethod::kName);
    ASSIGN_OR_RETURN(const Caller caller, Authorize(parts_, kRpc, context_));
    typename RpcMethod::Request request;
    RETURN_IF_ERROR(Unfold(bytes_, std::min(parts_.max_message_bytes, kMostUnfoldedNames)));
    RETURN_IF_ERROR(ParseMessage(bytes_, request));
    RETURN_IF_ERROR(RpcMethod::Check(request));
    parts_.watches.Add(self_);
    subscription_ = RpcMethod::Subscribe(
        parts_, caller, request, [call = this->shared_from_this()](const Event& event) { call->OnEvent(event); });
    return absl::OkStatus();
  }

  // On the source's thread, or inside Subscribe.
  void OnEvent(const Event& event) {
    MutexLock lock(mutex_);
    if (ending_) return;
    if (events_.size() >= kMaxWaitingEvents) {
      return End(absl::ResourceExhaustedError("the watcher reads too slowly; watch again for the present state"));
    }
    try {
      events_.push_back(ToBytes(event));
    } catch (const std::bad_alloc&) {
      CountOutOfMemory();
      return End(OutOfMemoryError());
    }
    Continue();
  }

  void OnWritten(bool ok) {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) End(absl::CancelledError("the client has left"));
    Continue();
  }

  // The client has left, or the call has finished: the last tag but for a write under way.
  void OnDone(bool) {
    {
      MutexLock lock(mutex_);
      End(absl::CancelledError("the client has left"));
      Continue();
      done_seen_ = true;
    }
    MaybeRelease();
  }

  void OnFinished(bool) {
    {
      MutexLock lock(mutex_);
      finished_seen_ = true;
    }
    MaybeRelease();
  }

  void End(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ending_) return;
    ending_ = true;
    status_ = std::move(status);
    events_.clear();
    Continue();
  }

  // Starts the next operation: one at a time, the status last.
  void Continue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finishing_) return;
    if (ending_) {
      finishing_ = true;
      FinishWith(status_, [this](const grpc::Status& status) { writer_.Finish(status, &finished_); });
    } else if (!events_.empty()) {
      writing_ = true;
      writer_.Write(events_.front(), &written_);
      events_.pop_front();
    }
  }

  // Without the lock: Unsubscribe waits for a listener that may want it.
  void MaybeRelease() {
    {
      MutexLock lock(mutex_);
      if (!done_seen_ || !finished_seen_) return;
    }
    const std::shared_ptr<WatchCall> last = std::move(self_);
    parts_.watches.Remove(last);
    if (subscription_ != 0) RpcMethod::Unsubscribe(parts_, subscription_);
  }

  CallParts& parts_;
  CallQueue& queue_;
  std::shared_ptr<WatchCall> self_;  // touched by the queue's thread alone
  uint64_t subscription_ = 0;        // touched by the queue's thread alone
  const LiveCall live_{parts_};
  MemberTag<WatchCall> requested_{*this, &WatchCall::OnRequested};
  MemberTag<WatchCall> written_{*this, &WatchCall::OnWritten};
  MemberTag<WatchCall> finished_{*this, &WatchCall::OnFinished};
  MemberTag<WatchCall> done_{*this, &WatchCall::OnDone};
  grpc::ServerContext context_;
  grpc::ByteBuffer bytes_;  // of the request
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> events_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;     // no more events are sent
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
  bool done_seen_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_seen_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_TYPED_CALLS_H_
