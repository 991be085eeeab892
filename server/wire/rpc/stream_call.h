// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_

#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/process/out_of_memory.h"
#include "server/serve/scheduling/answer_budget.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/wire/rpc/call_origin.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/wire.h"

namespace vitrine {

// Requests of one stream that are read and not yet written back. The server reads no further, so that a client that
// does not read its answers holds only these.
inline constexpr int kMaxInFlight = 64;
// The same in bytes: of the answers that are not yet written, and of what those to come may add. One request more is
// read, whatever its answer takes.
inline constexpr int64_t kMaxAnswerBytes = int64_t{8} << 20;

// A raw bidirectional call, each of whose messages is a request that gets one message for an answer. Reads, answers and
// writes overlap: one read and one write are outstanding at most. The call keeps itself alive until every operation has
// come back; a request in flight keeps it alive too. Ends when nothing is in flight and the client has said all or is
// gone (OK), the server drains (UNAVAILABLE), the caller may not make the call, or an answer was lost for want of
// memory.
class StreamCall : public LongCall, public std::enable_shared_from_this<StreamCall> {
 public:
  enum class Order { kAsAnswered, kAsAsked };

  // `post` asks for the next call of this kind, whose answers are written in that order.
  StreamCall(CallParts& parts, CallQueue& queue, RpcName rpc, CallQueue::Ask post, Order order)
      : parts_(parts), queue_(queue), rpc_(rpc), post_(post), order_(order) {
    context_.AsyncNotifyWhenDone(&done_);
  }

  void Request(grpc::ServerCompletionQueue* cq);
  void Close() override;

 protected:
  // A request that was read, until its answer is written or lost.
  struct InFlight {
    const std::shared_ptr<StreamCall> call;
    // Set before the request is answered:
    std::string id = {};
    int requests = 1;                                   // that the service has counted as accepted
    std::vector<std::shared_ptr<HeldRoom>> rooms = {};  // of its answer, in the budget of answers
    // Guarded by the call's mutex:
    bool answered = false;
    bool lost = false;  // answered, but there was no memory for the answer
    grpc::ByteBuffer answer = {};
    int64_t bytes = 0;  // in answer_bytes_: what the answer may take, then what it takes
  };

  // What a kind of call adds. On the queue's thread; must not throw.

  // Asks gRPC for a call, with requested_ as its tag.
  virtual void Ask(grpc::ServerCompletionQueue* cq) = 0;
  // Takes what is in bytes_, and sees to it that it is answered once. Without the lock: a refusal is answered on the
  // way.
  virtual void Submit(std::shared_ptr<InFlight> read) = 0;

  // The context of that request. Takes no memory.
  CallContext ContextOf(InFlight& read, Method method);
  // Whether another request with its id waits for its answer.
  bool IsIdTaken(const InFlight& read);

  // On an executor's thread, or inside Submit. `message_of` makes what is written, also of a refusal. Never throws.
  template <typename Response, typename Message>
  static void Answer(InFlight& read, absl::StatusOr<Response> answer,
                     Message (*message_of)(const InFlight&, absl::StatusOr<Response>)) {
    const auto bytes_of = [&](absl::StatusOr<Response> answer) {
      return OrOutOfMemory(
          [&]() -> absl::StatusOr<grpc::ByteBuffer> { return ToBytes(message_of(read, std::move(answer))); });
    };
    absl::StatusOr<grpc::ByteBuffer> bytes = bytes_of(std::move(answer));
    if (!bytes.ok()) bytes = bytes_of(bytes.status());
    read.call->AnswerWith(read, std::move(bytes));
  }
  // The same for a message that is made; its status where there was no memory for it.
  void AnswerWith(InFlight& read, absl::StatusOr<grpc::ByteBuffer> bytes);

  CallParts& parts_;

 private:
  void OnRequested(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnDone(bool ok);
  void OnFinished(bool ok);

  // A place behind those in flight; null if there is no memory for it.
  std::shared_ptr<InFlight> Line() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the next answer, if it is there, or drops those that nobody takes.
  void Continue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of those that are answered, the next in the order; no longer among in_flight_. Null: there is none yet.
  std::shared_ptr<InFlight> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An answer is out, or lost with its client.
  void Settle(const InFlight& answered) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEnding() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return half_closed_ || broken_ || closing_ || !refused_.ok();
  }
  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets go of the call when no operation is left. Requests in flight still hold it.
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<StreamCall> TakeSelf();

  CallQueue& queue_;
  const RpcName rpc_;
  const CallQueue::Ask post_;
  const Order order_;
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);  // set when nobody takes an answer any more
  const LiveCall live_{parts_};
  MemberTag<StreamCall> read_{*this, &StreamCall::OnRead};
  MemberTag<StreamCall> written_{*this, &StreamCall::OnWritten};
  MemberTag<StreamCall> finished_{*this, &StreamCall::OnFinished};
  MemberTag<StreamCall> done_{*this, &StreamCall::OnDone};

 protected:
  MemberTag<StreamCall> requested_{*this, &StreamCall::OnRequested};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer bytes_;  // of the read that is outstanding
  StreamOrigin origin_;     // constant after OnRequested

 private:
  Mutex mutex_;
  std::shared_ptr<StreamCall> self_ ABSL_GUARDED_BY(mutex_);  // set while gRPC holds a tag of this call
  int tags_ ABSL_GUARDED_BY(mutex_) = 0;                      // of done_ and finished_, those yet to come
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<InFlight>> in_flight_ ABSL_GUARDED_BY(mutex_);  // as they were read
  std::shared_ptr<InFlight> writing_ ABSL_GUARDED_BY(mutex_);                // null: no write is outstanding
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // not yet written, and promised to requests in flight
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more comes from the client
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;       // nothing more reaches the client
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;      // the server wants to end the call
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);      // not OK: nothing more is read, and the stream ends so
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;    // Finish was called
};

template <typename Call>
void PostStreamCall(CallParts& parts, CallQueue& queue) {
  auto call = std::make_shared<Call>(parts, queue);
  queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_STREAM_CALL_H_
