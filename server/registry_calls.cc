// The calls of the Registry service: two unary ones and WatchModels.
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "server/authorization.h"
#include "server/calls.h"
#include "server/grpc_status.h"

namespace vitrine {
namespace {

absl::StatusOr<v1::ListModelsResponse> List(const Registry& registry, const v1::ListModelsRequest&) {
  v1::ListModelsResponse response;
  for (const VersionStatus& status : registry.List()) *response.add_versions() = Describe(status, false);
  return response;
}

absl::StatusOr<v1::ModelVersion> Get(const Registry& registry, const v1::GetModelRequest& request) {
  ASSIGN_OR_RETURN(
      const VersionStatus status,
      registry.Get(request.model(), request.has_version() ? std::optional<int64_t>(request.version()) : std::nullopt));
  return Describe(status, true);
}

struct ListMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/ListModels";
  using Request = v1::ListModelsRequest;
  using Response = v1::ListModelsResponse;
  static constexpr auto kPost = &RegistryRpc::RequestListModels;
  static constexpr auto kHandle = &List;
};

struct GetMethod {
  static constexpr std::string_view kName = "/vitrine.v1.Registry/GetModel";
  using Request = v1::GetModelRequest;
  using Response = v1::ModelVersion;
  static constexpr auto kPost = &RegistryRpc::RequestGetModel;
  static constexpr auto kHandle = &Get;
};

// A call that is answered at once, on the queue's thread.
template <typename RpcMethod>
class RegistryCall {
 public:
  static void Post(CallParts& parts, CallQueue& queue) {
    auto call = std::make_unique<RegistryCall>(parts, queue);
    if (queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); })) call.release();
  }

  RegistryCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) {}

 private:
  void Request(grpc::ServerCompletionQueue* cq) {
    (parts_.registry_rpc.*RpcMethod::kPost)(&context_, &request_, &writer_, cq, cq, &requested_);
  }

  void OnRequested(bool ok) {
    if (!ok) return delete this;
    Post(parts_, queue_);
    const absl::StatusOr<typename RpcMethod::Response> response = Answer();
    if (response.ok()) {
      writer_.Finish(*response, grpc::Status::OK, &finished_);
    } else {
      writer_.FinishWithError(ToGrpcStatus(response.status()), &finished_);
    }
  }

  absl::StatusOr<typename RpcMethod::Response> Answer() {
    RETURN_IF_ERROR(Authorize(RpcMethod::kName));
    return RpcMethod::kHandle(parts_.registry, request_);
  }

  void OnFinished(bool) { delete this; }

  CallParts& parts_;
  CallQueue& queue_;
  const LiveCall live_{parts_};
  MemberTag<RegistryCall> requested_{*this, &RegistryCall::OnRequested};
  MemberTag<RegistryCall> finished_{*this, &RegistryCall::OnFinished};
  grpc::ServerContext context_;
  typename RpcMethod::Request request_;
  grpc::ServerAsyncResponseWriter<typename RpcMethod::Response> writer_{&context_};
};

// Events that a watcher has not read yet. A client that falls further behind is sent away.
constexpr size_t kMaxWaitingEvents = 4096;

// Sends every event of the registry until the client leaves. Keeps itself alive until every operation has come back
// and the registry has let go of it.
class WatchCall : public LongCall, public std::enable_shared_from_this<WatchCall> {
 public:
  WatchCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) { context_.AsyncNotifyWhenDone(&done_); }

  void Request(grpc::ServerCompletionQueue* cq) {
    self_ = shared_from_this();
    parts_.registry_rpc.RequestWatchModels(&context_, &request_, &writer_, cq, cq, &requested_);
  }

  void Close() override {
    MutexLock lock(mutex_);
    End(DrainingError());
  }

 private:
  void OnRequested(bool ok) {
    if (!ok) return self_.reset();
    PostWatchModels(parts_, queue_);
    const absl::Status allowed = Authorize("/vitrine.v1.Registry/WatchModels");
    if (!allowed.ok()) {
      MutexLock lock(mutex_);
      return End(allowed);
    }
    parts_.long_calls.Add(self_);
    subscription_ =
        parts_.registry.Subscribe([call = shared_from_this()](const v1::ModelEvent& event) { call->OnEvent(event); });
  }

  // On the registry's thread, or inside Subscribe.
  void OnEvent(const v1::ModelEvent& event) {
    if (!request_.model().empty() && request_.model() != event.version().model()) return;
    MutexLock lock(mutex_);
    if (ending_) return;
    if (events_.size() >= kMaxWaitingEvents) {
      return End(absl::ResourceExhaustedError("the watcher reads too slowly; watch again for the present state"));
    }
    events_.push_back(event);
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
      writer_.Finish(ToGrpcStatus(status_), &finished_);
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
    parts_.long_calls.Remove(last);
    if (subscription_ != 0) parts_.registry.Unsubscribe(subscription_);
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
  v1::WatchModelsRequest request_;
  grpc::ServerAsyncWriter<v1::ModelEvent> writer_{&context_};

  Mutex mutex_;
  std::deque<v1::ModelEvent> events_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;     // no more events are sent
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
  bool done_seen_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_seen_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

void PostListModels(CallParts& parts, CallQueue& queue) {
  RegistryCall<ListMethod>::Post(parts, queue);
}

void PostGetModel(CallParts& parts, CallQueue& queue) {
  RegistryCall<GetMethod>::Post(parts, queue);
}

void PostWatchModels(CallParts& parts, CallQueue& queue) {
  auto call = std::make_shared<WatchCall>(parts, queue);
  queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
}

}  // namespace vitrine
