// The unary Classify call.
#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <memory>
#include <utility>

#include "server/rpc/call_credentials.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/calls.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/wire.h"

namespace vitrine {
namespace {

// Everything but Answer runs on the queue's thread.
class ClassifyCall {
 public:
  ClassifyCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) {
    context_.AsyncNotifyWhenDone(&done_);
  }

  void Request(grpc::ServerCompletionQueue* cq) {
    parts_.classifier_rpc.RequestClassify(&context_, &bytes_, &writer_, cq, cq, &requested_);
  }

 private:
  void OnRequested(bool ok) {
    // The server is shut down; in this case gRPC does not hand back done_.
    if (!ok) return delete this;
    PostClassify(parts_, queue_);
    absl::StatusOr<Caller> caller = Authorize(parts_, "/vitrine.v1.Classifier/Classify", context_);
    absl::StatusOr<v1::ClassifyRequest> request =
        caller.ok() ? ParseRequest(bytes_) : absl::StatusOr<v1::ClassifyRequest>(caller.status());
    parts_.service.Classify(std::move(request),
                            {.caller = caller.ok() ? *std::move(caller) : Caller(),
                             .method = Method::kClassify,
                             .deadline = DeadlineOf(context_, parts_.service.clock()),
                             .cancelled = cancelled_,
                             .trace = TraceOf(context_),
                             .room = room_},
                            [this](absl::StatusOr<v1::ClassifyResponse> answer) { Answer(std::move(answer)); });
  }

  // On the thread of the executor, or inside OnRequested. The queue's thread may delete the call as soon as the
  // operation is started: nothing comes after it.
  void Answer(absl::StatusOr<v1::ClassifyResponse> answer) {
    if (answer.ok()) {
      writer_.Finish(ToBytes(*answer), grpc::Status::OK, &finished_);
    } else {
      writer_.FinishWithError(ToGrpcStatus(answer.status()), &finished_);
    }
  }

  void OnFinished(bool) {
    parts_.service.ledger().Answer();
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
  const std::shared_ptr<AnswerReservation> room_ = std::make_shared<AnswerReservation>();  // until the answer is out
  int tags_ = 2;                                                                           // done_ and finished_
  const LiveCall live_{parts_};
  MemberTag<ClassifyCall> requested_{*this, &ClassifyCall::OnRequested};
  MemberTag<ClassifyCall> finished_{*this, &ClassifyCall::OnFinished};
  MemberTag<ClassifyCall> done_{*this, &ClassifyCall::OnDone};
  grpc::ServerContext context_;
  grpc::ByteBuffer bytes_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
};

}  // namespace

void PostClassify(CallParts& parts, CallQueue& queue) {
  auto call = std::make_unique<ClassifyCall>(parts, queue);
  if (queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); })) call.release();
}

absl::StatusOr<Caller> Authorize(const CallParts& parts, RpcName rpc, const grpc::ServerContextBase& context) {
  absl::StatusOr<Caller> caller = parts.identity.Authorize(rpc, CredentialsOf(context));
  parts.service.metrics().server().CountAuthorization(caller.status().code());
  return caller;
}

absl::Time DeadlineOf(const grpc::ServerContext& context, const Clock& clock) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return clock.Now() + (absl::FromChrono(deadline) - absl::Now());
}

}  // namespace vitrine
