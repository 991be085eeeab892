// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/serve/request/answer_hold.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_call.h"

namespace vitrine {

// Requests of one stream that were read and whose answers the client has not taken. The server reads no further, so
// that a client that does not read its answers holds only these.
inline constexpr int kMaxInFlight = 64;
// The same in bytes: of the answers that were made and not taken, and of what those to come may add. One request more
// is read, whatever its answer takes.
inline constexpr int64_t kMaxAnswerBytes = int64_t{8} << 20;

// A bidirectional call, each of whose messages is a request that gets one message for an answer. Ends when nothing is
// in flight and the client has said all (OK), the server drains (UNAVAILABLE), the deadline is past, or the caller may
// not make the call. Thread-safe.
class StreamCall : public GrpcCall, public LongCall {
 public:
  enum class Order { kAsAnswered, kAsAsked };

  // Answers are sent in that order. Without `rpc` everybody may make the call.
  StreamCall(CallParts& parts, std::optional<RpcName> rpc, GrpcOpening opening, int64_t max_message_bytes, Order order)
      : GrpcCall(std::move(opening), max_message_bytes, false), parts_(parts), rpc_(rpc), order_(order) {}

  void Start() override;
  void Close() override;

 protected:
  // A request that was read, until its answer was taken or nobody takes it any more.
  struct InFlight {
    explicit InFlight(std::shared_ptr<StreamCall> call) : call(std::move(call)) {}
    ~InFlight() { call->OnTaken(bytes); }

    const std::shared_ptr<StreamCall> call;
    std::string id = {};                         // set before the request is answered
    std::shared_ptr<AnswerHold> held = nullptr;  // set before the request is submitted; may be null
    // Guarded by the call's mutex:
    std::optional<std::string> answer = {};  // the frame, until it is sent
    bool is_answered = false;
    int64_t bytes = 0;  // in answer_bytes_: what the answer may take, then what it takes
  };

  // Takes the request, and sees to it that it is answered once. On the thread that reads.
  virtual void Submit(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes> message) = 0;

  // Fills in the context of a request that has a hold. The caller is authorised for each request, so that a token that
  // is taken away ends with its next request, not with the stream. Errors as Authorize's.
  absl::Status Describe(InFlight& read, Method method, CallContext& context);
  // Returns true if another request with its id waits for its answer.
  bool IsIdTaken(const InFlight& read);
  // Sends the answer of a request. Any thread.
  static void Answer(const std::shared_ptr<InFlight>& read, std::string frame);

  CallParts& parts_;

 private:
  void OnMessage(absl::StatusOr<MessageBytes> message) final;
  void OnHalfClosed() final;
  void OnFault(const absl::Status& why) final;
  void OnDeadline() final;
  void OnGone() final;

  void AnswerWith(const std::shared_ptr<InFlight>& read, std::string frame);
  // Sends what may be sent, or drops what nobody takes, and ends the call if that is all. Requests that were sent or
  // dropped are moved to `sent`, which must outlive the lock.
  void Continue(std::deque<std::shared_ptr<InFlight>>& sent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Is called when a request has died.
  void OnTaken(int64_t bytes);
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return held_ >= kMaxInFlight || answer_bytes_ >= kMaxAnswerBytes;
  }

  const std::optional<RpcName> rpc_;
  const Order order_;

  Mutex mutex_;
  std::deque<std::shared_ptr<InFlight>> in_flight_ ABSL_GUARDED_BY(mutex_);  // those not sent, as they were read
  int held_ ABSL_GUARDED_BY(mutex_) = 0;                     // InFlight objects: those, and answers that were not taken
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;         // of them
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;             // nothing more reaches the client
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // no request is taken any more, and the call ends so
};

template <typename Call>
void AddStreamCall(GrpcServer& server, CallParts& parts, std::string_view path) {
  server.Add(path, [&parts](GrpcOpening opening) { return std::make_shared<Call>(parts, std::move(opening)); });
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_
