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

// Limit on requests of one stream whose answers the client has not read. At the limit, the server stops reading the
// stream, so that a client that reads no answers uses limited memory.
inline constexpr int kMaxInFlight = 64;
// Limit on the answer bytes of one stream: bytes that the client has not read, and the planned answer bytes of requests
// in flight. At the limit, the server stops reading. The request read last may bring the sum above the limit.
inline constexpr int64_t kMaxAnswerBytes = int64_t{8} << 20;

// A bidirectional call: each message is a request that gets one answer. The call ends once nothing is in flight and one
// of these is true: the client has sent everything (OK), the server shuts down (UNAVAILABLE), or reading has failed,
// for example because the client is not authorized. At the deadline it ends at once. Thread-safe.
class StreamCall : public GrpcCall, public OpenEndedCall {
 public:
  enum class Order { kAsAnswered, kAsReceived };

  // `order` is the order of the answers. Without `rpc` the call needs no authorization.
  StreamCall(CallParts& parts, std::optional<RpcName> rpc, GrpcOpening opening, int64_t max_message_bytes, Order order)
      : GrpcCall(std::move(opening), max_message_bytes, false), parts_(parts), rpc_(rpc), order_(order) {}

  void Start() override;
  void Close() override;

 protected:
  // Continues reading after PauseReading, unless too many answers wait to be sent.
  void ResumeUnlessFull();
  // A request that was read. It is destroyed once its answer was sent or dropped.
  struct InFlight {
    explicit InFlight(std::shared_ptr<StreamCall> call) : call(std::move(call)) {}
    ~InFlight() { call->OnTaken(bytes); }

    const std::shared_ptr<StreamCall> call;
    std::string id = {};                              // id of the request; set before the request is answered
    std::shared_ptr<AnswerResources> held = nullptr;  // set before the request is submitted; may be null
    // The mutex of the call guards the fields below.
    std::optional<std::string> answer = {};  // frame, until it is sent
    bool is_answered = false;
    int64_t bytes = 0;  // counted in answer_bytes_: the answer's planned size, later its actual size
  };

  // Handles the request and ensures that Answer is called once for it. Runs on the reading thread.
  virtual void Submit(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes> message) = 0;

  // Fills `context` for the request `read`. `read.held` must be set before. Authorizes every request, so that a token
  // revoked during the stream fails at the next request. For errors, see Authorize.
  absl::Status Describe(InFlight& read, Method method, CallContext& context);
  // Returns true if another unanswered request has the same id.
  bool IsIdTaken(const InFlight& read);
  // Sends the answer of a request. Thread-safe.
  static void Answer(const std::shared_ptr<InFlight>& read, std::string frame);

  CallParts& parts_;

 private:
  void OnMessage(absl::StatusOr<MessageBytes> message) final;
  void OnHalfClosed() final;
  void OnFault(const absl::Status& why) final;
  void OnDeadline() final;
  void OnGone() final;

  void AnswerWith(const std::shared_ptr<InFlight>& read, std::string frame);
  // Sends the answers that are due, and ends the call if nothing is left. Moves the requests whose answers were sent to
  // `sent`, or all requests if the client has left. Destroy `sent` after the lock is released.
  void Continue(std::deque<std::shared_ptr<InFlight>>& sent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Runs when an InFlight is destroyed.
  void OnTaken(int64_t bytes);
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return held_ >= kMaxInFlight || answer_bytes_ >= kMaxAnswerBytes;
  }

  const std::optional<RpcName> rpc_;
  const Order order_;

  Mutex mutex_;
  // requests whose answer was not passed to SendMessage, in the order read
  std::deque<std::shared_ptr<InFlight>> in_flight_ ABSL_GUARDED_BY(mutex_);
  // number of InFlight objects: requests in in_flight_, and requests whose answer waits to be sent
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;         // sum of `bytes` of these objects
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;             // true: the client can no longer be reached
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // if set, the status with which the call ends
};

template <typename Call>
void AddStreamCall(GrpcServer& server, CallParts& parts, std::string_view path) {
  server.Add(path, [&parts](GrpcOpening opening) { return std::make_shared<Call>(parts, std::move(opening)); });
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_
