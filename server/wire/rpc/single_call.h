// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_SINGLE_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_SINGLE_CALL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_call.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine {

// A call in which the client sends one message.
class SingleCall : public GrpcCall {
 public:
  SingleCall(GrpcOpening opening, int64_t max_message_bytes) : GrpcCall(std::move(opening), max_message_bytes, true) {}

 protected:
  // Handles the message, or the error of a message that could not be decompressed.
  virtual void OnRequest(absl::StatusOr<MessageBytes> message) = 0;

 private:
  void OnMessage(absl::StatusOr<MessageBytes> message) final {
    if (message_.has_value()) {
      return Fault(absl::UnimplementedError("the method accepts one message, but the client sent more"));
    }
    message_ = std::move(message);
  }
  void OnHalfClosed() final {
    // Uses the error text of gRPC's library.
    if (!message_.has_value()) return Finish(GrpcProtocolError("Unable to parse request"));
    OnRequest(*std::exchange(message_, std::nullopt));
  }

  std::optional<absl::StatusOr<MessageBytes>> message_;  // used by the reading thread
};

// A call that is authorized before its message is read, and rejected if it is not permitted.
class CheckedCall : public SingleCall {
 public:
  CheckedCall(CallParts& parts, RpcName rpc, GrpcOpening opening, int64_t max_message_bytes = kMaxPlainMessageBytes)
      : SingleCall(std::move(opening), max_message_bytes), parts_(parts), rpc_(rpc) {}

  void Start() final {
    caller_ = Authorize(parts_, rpc_, request());
    if (!caller_.ok()) Fault(caller_.status());
  }

 protected:
  // Returns the account of this call in Workers, which serve the accounts in turn. The account is the caller's
  // name, or the network of an anonymous caller.
  const std::string& Account() const { return caller_->IsAnonymous() ? network() : caller_->name; }

  CallParts& parts_;
  const RpcName rpc_;
  absl::StatusOr<Caller> caller_ = Caller();
};

// Thread that runs the handler of a call.
enum class CallPlace { kConnection, kWorker };

// A call without images and with one answer; `handle` gets the caller and the request.
template <typename Request, typename Response>
class SimpleUnaryCall final : public CheckedCall {
 public:
  using Handle = std::function<absl::StatusOr<Response>(const Caller&, const Request&)>;

  SimpleUnaryCall(CallParts& parts, RpcName rpc, CallPlace where, const Handle& handle, GrpcOpening opening)
      : CheckedCall(parts, rpc, std::move(opening)), where_(where), handle_(handle) {}

 private:
  void OnRequest(absl::StatusOr<MessageBytes> message) override {
    if (where_ == CallPlace::kConnection) return Answer(Respond(message));
    const absl::Status taken =
        RunOn(parts_.workers, Account(), [this, message = std::move(message)] { Answer(Respond(message)); });
    if (!taken.ok()) Finish(taken);
  }

  absl::StatusOr<Response> Respond(const absl::StatusOr<MessageBytes>& message) {
    if (cancelled()->load(std::memory_order_acquire)) return absl::CancelledError("the client cancelled the call");
    if (server().clock().Now() >= deadline()) return absl::DeadlineExceededError("Deadline Exceeded");
    RETURN_IF_ERROR(message.status());
    Request request;
    RETURN_IF_ERROR(ParseMessage(**message, request));
    return handle_(*caller_, request);
  }

  void Answer(const absl::StatusOr<Response>& answer) {
    if (!answer.ok()) return Finish(answer.status());
    Compress(GrpcFrame(*answer), [self = std::static_pointer_cast<SimpleUnaryCall>(shared_from_this())](
                                     std::string frame) { self->FinishWith(std::move(frame)); });
  }

  const CallPlace where_;
  const Handle& handle_;  // owned by the server's method table
};

template <typename Request, typename Response, typename Handle>
void AddPlainCall(GrpcServer& server, CallParts& parts, RpcName rpc, CallPlace where, Handle handle) {
  using Call = SimpleUnaryCall<Request, Response>;
  server.Add(rpc.method(), [&parts, rpc, where, handle = typename Call::Handle(handle)](GrpcOpening opening) {
    return std::make_shared<Call>(parts, rpc, where, handle, std::move(opening));
  });
}

// A unary call that ClassifyService accepts and an executor answers. `Kind` must have these members:
//   kMethod
//   Received, Response
//   IsSlow(bytes)                               returns true if Read must not run on a connection's thread
//   Read(MessageBytes, HttpRequest)             returns a StatusOr of Received
//   Submit(service, StatusOr of Received, CallContext, done)
template <typename Kind>
class ServedCall final : public CheckedCall {
 public:
  ServedCall(CallParts& parts, RpcName rpc, GrpcOpening opening)
      : CheckedCall(parts, rpc, opening, opening.server.options().max_message_bytes),
        context_(ContextOf(Kind::kMethod, opening)),
        held_(std::make_shared<AnswerResources>(parts.service.ledger())) {}

  static void AddTo(GrpcServer& server, CallParts& parts, RpcName rpc) {
    server.Add(rpc.method(), [&parts, rpc](GrpcOpening opening) {
      return std::make_shared<ServedCall>(parts, rpc, std::move(opening));
    });
  }

 private:
  using Response = typename Kind::Response;

  void OnRequest(absl::StatusOr<MessageBytes> message) override {
    if (!message.ok() || !Kind::IsSlow((*message)->bytes)) return Submit(std::move(message));
    const absl::Status taken = RunOn(server().body_workers(), network(), [this, message = *std::move(message)] {
      if (cancelled()->load(std::memory_order_acquire)) return Submit(absl::CancelledError("the client has left"));
      Submit(message);
    });
    if (!taken.ok()) Submit(taken);
  }
  // A protocol violation ends the call. Other errors are passed to the service, which counts them as rejections.
  void OnFault(const absl::Status& why) override {
    if (absl::IsInternal(why) || absl::IsUnimplemented(why)) return Finish(why);
    Submit(why);
  }

  void Submit(absl::StatusOr<MessageBytes> message) {
    using Read = absl::StatusOr<typename Kind::Received>;
    Read received = message.ok() ? Kind::Read(*std::move(message), request()) : Read(message.status());
    context_.caller = CallerOf(caller_);
    context_.held = held_;
    Kind::Submit(parts_.service, std::move(received), std::move(context_),
                 [self = std::static_pointer_cast<ServedCall>(shared_from_this())](absl::StatusOr<Response> answer) {
                   self->Answer(std::move(answer));
                 });
  }

  // Runs on an executor's thread, or inside Submit.
  void Answer(const absl::StatusOr<Response>& answer) {
    const std::shared_ptr<AnswerResources> held = std::move(held_);
    if (!answer.ok()) {
      held->SetBytes(static_cast<int64_t>(answer.status().message().size()));
      return Finish(answer.status(), AnswerResources::UntilSent(held));
    }
    Compress(GrpcFrame(*answer),
             [self = std::static_pointer_cast<ServedCall>(shared_from_this()), held](std::string frame) {
               held->SetBytes(static_cast<int64_t>(frame.size()));
               self->FinishWith(std::move(frame), AnswerResources::UntilSent(held));
             });
  }

  CallContext context_;
  std::shared_ptr<AnswerResources> held_;  // null after the answer
};

// Maximum number of events of one call that wait to be sent. If it is exceeded, the call ends.
inline constexpr int kMaxWaitingEvents = 4096;

// A call that sends events until the client disconnects. `Kind` must have these members:
//   Request, Event
//   kPlace                                              thread that calls Subscribe
//   Check(request)                                      returns an error if the request is invalid
//   Subscribe(parts, caller, request, listener)         returns an id above 0; `listener` may run on any thread
//   Unsubscribe(parts, id)                              when it returns, the listener is not called again
template <typename Kind>
class WatchCall final : public CheckedCall, public OpenEndedCall {
 public:
  WatchCall(CallParts& parts, RpcName rpc, GrpcOpening opening) : CheckedCall(parts, rpc, std::move(opening)) {}

  static void AddTo(GrpcServer& server, CallParts& parts, RpcName rpc) {
    server.Add(rpc.method(), [&parts, rpc](GrpcOpening opening) {
      return std::make_shared<WatchCall>(parts, rpc, std::move(opening));
    });
  }

  void Close() override { Finish(DrainingError()); }

 private:
  using Event = typename Kind::Event;

  std::shared_ptr<WatchCall> Self() { return std::static_pointer_cast<WatchCall>(shared_from_this()); }

  void OnRequest(absl::StatusOr<MessageBytes> message) override {
    if (Kind::kPlace == CallPlace::kConnection) return Begin(message);
    const absl::Status taken =
        RunOn(parts_.workers, Account(), [this, message = std::move(message)] { Begin(message); });
    if (!taken.ok()) Finish(taken);
  }

  void Begin(const absl::StatusOr<MessageBytes>& message) {
    if (const absl::Status begun = Subscribe(message); !begun.ok()) Finish(begun);
  }

  absl::Status Subscribe(const absl::StatusOr<MessageBytes>& message) {
    RETURN_IF_ERROR(message.status());
    typename Kind::Request request;
    RETURN_IF_ERROR(ParseMessage(**message, request));
    RETURN_IF_ERROR(Kind::Check(request));
    if (cancelled()->load(std::memory_order_acquire)) return absl::CancelledError("the client cancelled the call");
    parts_.watches.Add(Self());
    const uint64_t id =
        Kind::Subscribe(parts_, *caller_, request, [call = Self()](const Event& event) { call->OnEvent(event); });
    {
      MutexLock lock(mutex_);
      if (!is_gone_) {
        subscription_ = id;
        return absl::OkStatus();
      }
    }
    Leave(id);  // the client left during Subscribe
    return absl::OkStatus();
  }

  // Runs on the thread that reports the event, or inside Subscribe.
  void OnEvent(const Event& event) {
    if (waiting_->fetch_add(1, std::memory_order_relaxed) >= kMaxWaitingEvents) {
      return Finish(absl::ResourceExhaustedError("the watcher reads too slowly; watch again for the current state"));
    }
    SendMessage(GrpcFrame(event),
                {waiting_.get(), [waiting = waiting_](void*) { waiting->fetch_sub(1, std::memory_order_relaxed); }});
  }

  void OnDeadline() override { Finish(absl::DeadlineExceededError("Deadline Exceeded")); }
  void OnGone() override {
    uint64_t id = 0;
    {
      MutexLock lock(mutex_);
      is_gone_ = true;
      id = std::exchange(subscription_, 0);
    }
    Leave(id);
  }

  // Ends the subscription. Call it without the lock, because Unsubscribe waits for a running listener.
  void Leave(uint64_t id) {
    parts_.watches.Remove(Self());
    if (id != 0) Kind::Unsubscribe(parts_, id);
  }

  const std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);  // number of unsent events
  Mutex mutex_;
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t subscription_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_SINGLE_CALL_H_
