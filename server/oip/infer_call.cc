// The unary ModelInfer call.
#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <memory>
#include <utility>

#include "server/oip/infer.h"
#include "server/oip/oip_calls.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/wire.h"

namespace vitrine {
namespace {

// Everything but Answer runs on the queue's thread.
class InferCall {
 public:
  InferCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) { context_.AsyncNotifyWhenDone(&done_); }

  void Request(grpc::ServerCompletionQueue* cq) {
    parts_.oip_rpc.RequestModelInfer(&context_, &bytes_, &writer_, cq, cq, &requested_);
  }

 private:
  void OnRequested(bool ok) {
    // The server is shut down; in this case gRPC does not hand back done_.
    if (!ok) return delete this;
    PostModelInfer(parts_, queue_);
    absl::StatusOr<Caller> caller = Authorize(parts_, "/inference.GRPCInferenceService/ModelInfer", context_);
    absl::StatusOr<inference::ModelInferRequest> request =
        caller.ok() ? ParseInferRequest(bytes_) : absl::StatusOr<inference::ModelInferRequest>(caller.status());
    Infer(parts_.service, std::move(request),
          {.caller = caller.ok() ? *std::move(caller) : Caller(),
           .method = Method::kModelInfer,
           .deadline = DeadlineOf(context_, parts_.service.clock()),
           .cancelled = cancelled_,
           .trace = TraceOf(context_)},
          [this](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
            Answer(std::move(answer), std::move(held));
          });
  }

  // On the thread of an executor, or inside OnRequested. The queue's thread may delete the call as soon as the
  // operation is started: nothing comes after it.
  void Answer(absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
    held_ = std::move(held);
    if (answer.ok()) {
      writer_.Finish(ToBytes(*answer), grpc::Status::OK, &finished_);
    } else {
      writer_.FinishWithError(ToGrpcStatus(answer.status()), &finished_);
    }
  }

  void OnFinished(bool) {
    for (int i = 0; i < held_.requests; ++i) parts_.service.ledger().Answer();
    held_ = {};
    OnTag();
  }

  void OnDone(bool) {
    if (context_.IsCancelled()) cancelled_->store(true, std::memory_order_release);
    OnTag();
  }

  void OnTag() {
    if (--tags_ == 0) delete this;
  }

  CallParts& parts_;
  CallQueue& queue_;
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);
  InferHeld held_;  // until the answer is out; written before finished_ is started
  int tags_ = 2;    // done_ and finished_
  const LiveCall live_{parts_};
  MemberTag<InferCall> requested_{*this, &InferCall::OnRequested};
  MemberTag<InferCall> finished_{*this, &InferCall::OnFinished};
  MemberTag<InferCall> done_{*this, &InferCall::OnDone};
  grpc::ServerContext context_;
  grpc::ByteBuffer bytes_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
};

}  // namespace

void PostModelInfer(CallParts& parts, CallQueue& queue) {
  auto call = std::make_unique<InferCall>(parts, queue);
  if (queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); })) call.release();
}

}  // namespace vitrine
