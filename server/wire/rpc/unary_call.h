// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_UNARY_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_UNARY_CALL_H_

#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "server/process/out_of_memory.h"
#include "server/serve/request/classify_service.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/wire/rpc/call_origin.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {

// A raw unary call that another thread answers. Owns itself and is gone when every operation of it has come back.
// Everything but Answer runs on the queue's thread.
class UnaryCall {
 public:
  UnaryCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) { context_.AsyncNotifyWhenDone(&done_); }
  virtual ~UnaryCall() = default;
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;

  // Asks gRPC for a call, with requested_ as its tag.
  virtual void Request(grpc::ServerCompletionQueue* cq) = 0;

 protected:
  // A call has come: asks for the next and submits this one. Must not throw.
  virtual void Serve() = 0;
  // The answer is out, or lost with its client.
  virtual void OnAnswered() = 0;

  // The message of the call that has come, which `read` reads if its caller may make the call; and in `call` what is
  // known beside it.
  template <typename Message>
  absl::StatusOr<Message> Receive(RpcName rpc, CallContext& call,
                                  absl::StatusOr<Message> (*read)(ClassifyService&, grpc::ByteBuffer&, CallContext&)) {
    call.deadline = DeadlineOf(context_, parts_.service.clock());
    return OrOutOfMemory([&]() -> absl::StatusOr<Message> {
      call.peer = context_.peer();
      call.trace = TraceOf(context_);
      const absl::StatusOr<Caller> caller = Authorize(parts_, rpc, context_);
      call.caller = CallerOf(caller);
      RETURN_IF_ERROR(caller.status());
      RETURN_IF_ERROR(Unfold(bytes_, parts_.max_message_bytes));
      return read(parts_.service, bytes_, call);
    });
  }

  // Once, on any thread, or inside Serve. Never throws. The queue's thread may delete the call as soon as the operation
  // is started: nothing comes after it.
  template <typename Response>
  void Answer(const absl::StatusOr<Response>& answer) {
    const absl::StatusOr<grpc::ByteBuffer> bytes = OrOutOfMemory([&]() -> absl::StatusOr<grpc::ByteBuffer> {
      RETURN_IF_ERROR(answer.status());
      return ToBytes(*answer);
    });
    if (bytes.ok()) return writer_.Finish(*bytes, grpc::Status::OK, &finished_);
    FinishWith(bytes.status(), [this](const grpc::Status& status) { writer_.FinishWithError(status, &finished_); });
  }

  CallParts& parts_;
  CallQueue& queue_;
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);  // set when the client leaves

 private:
  void OnRequested(bool ok) {
    // The server is shut down; in this case gRPC does not hand back done_.
    if (!ok) return delete this;
    Serve();
  }

  void OnFinished(bool) {
    OnAnswered();
    OnTag();
  }

  void OnDone(bool) {
    if (context_.IsCancelled()) cancelled_->store(true, std::memory_order_release);
    OnTag();
  }

  void OnTag() {
    if (--tags_ == 0) delete this;
  }

  int tags_ = 2;  // done_ and finished_
  const LiveCall live_{parts_};
  MemberTag<UnaryCall> finished_{*this, &UnaryCall::OnFinished};
  MemberTag<UnaryCall> done_{*this, &UnaryCall::OnDone};

 protected:
  MemberTag<UnaryCall> requested_{*this, &UnaryCall::OnRequested};
  grpc::ServerContext context_;
  grpc::ByteBuffer bytes_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
};

template <typename Call>
void PostUnaryCall(CallParts& parts, CallQueue& queue) {
  auto call = std::make_unique<Call>(parts, queue);
  if (queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); })) static_cast<void>(call.release());
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_UNARY_CALL_H_
