// SPDX-License-Identifier: Apache-2.0
// The bidirectional ClassifyStream call.
#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "server/request/plan_request.h"
#include "server/rpc/call_credentials.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/calls.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/wire.h"

namespace vitrine {
namespace {

constexpr RpcName kRpc = "/vitrine.v1.Classifier/ClassifyStream";

// Requests read and not yet written back. The server reads no further, so that a client that does not read its answers
// holds only these.
constexpr int kMaxInFlight = 64;
// The same in bytes: of the answers that are not yet written, and of what those to come may add. One request more is
// read, whatever its answer takes.
constexpr int64_t kMaxAnswerBytes = int64_t{8} << 20;

// Reads, answers and writes overlap: one read and one write are outstanding at most, answers wait in a queue. The call
// keeps itself alive until every operation has come back; a request in flight keeps it alive too.
class StreamCall : public LongCall, public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(CallParts& parts, CallQueue& queue) : parts_(parts), queue_(queue) {
    context_.AsyncNotifyWhenDone(&done_);
  }

  void Request(grpc::ServerCompletionQueue* cq) {
    {
      MutexLock lock(mutex_);
      self_ = shared_from_this();
    }
    parts_.classifier_rpc.RequestClassifyStream(&context_, &stream_, cq, cq, &requested_);
  }

  void Close() override {
    MutexLock lock(mutex_);
    closing_ = true;
    MaybeFinish();
  }

 private:
  // An answer that the client has not taken yet, and its room in the budget of answers.
  struct Waiting {
    grpc::ByteBuffer bytes;
    std::shared_ptr<AnswerReservation> room;
  };

  void OnRequested(bool ok) {
    const auto keep = TakeSelf();
    if (!ok) return;
    PostClassifyStream(parts_, queue_);
    deadline_ = DeadlineOf(context_, parts_.service.clock());
    trace_ = TraceOf(context_);
    {
      MutexLock lock(mutex_);
      self_ = keep;
      tags_ = 2;  // done_ and finished_
      credentials_ = CredentialsOf(context_);
      peer_ = context_.peer();
      refused_ = Authorize().status();
      if (!refused_.ok()) return MaybeFinish();
      Read();
    }
    parts_.long_calls.Add(keep);
  }

  void OnRead(bool ok) {
    const auto keep = shared_from_this();
    {
      MutexLock lock(mutex_);
      reading_ = false;
      if (finishing_) return Release();  // came too late: it is neither accepted nor answered
      if (!ok) {                         // the client has said all, or is gone
        half_closed_ = true;
        MaybeFinish();
        return Release();
      }
      ++in_flight_;
    }
    Handle(ParseRequest(bytes_));
    MutexLock lock(mutex_);
    MaybeRead();
  }

  // By the credentials that came with the call, as the rules are now.
  absl::StatusOr<Caller> Authorize() {
    absl::StatusOr<Caller> caller = parts_.identity.Authorize(kRpc, credentials_);
    parts_.service.metrics().server().CountAuthorization(caller.status().code());
    return caller;
  }

  // Submits one request. Without the lock: a refusal is answered before Classify returns.
  void Handle(absl::StatusOr<v1::ClassifyRequest> request) {
    std::string id = request.ok() ? request->request_id() : std::string();
    // Of the answer beside its few hundred bytes of predictions; set before the request is submitted.
    const auto promised = std::make_shared<int64_t>(0);
    const auto room = std::make_shared<AnswerReservation>();
    bool tracked = false;
    if (request.ok()) {
      MutexLock lock(mutex_);
      if (id.size() > kMaxRequestIdBytes) {
        // Not kept and not echoed: sixty-four answers may wait for a client that does not read.
        request = absl::InvalidArgumentError(
            absl::StrCat("a request_id is ", id.size(), " bytes long; at most ", kMaxRequestIdBytes, " are allowed"));
        id.clear();
        id.shrink_to_fit();
      } else if (id.empty()) {
        request = absl::InvalidArgumentError("request_id is empty; answers of a stream are matched by it");
      } else if (!ids_.insert(id).second) {
        request = absl::InvalidArgumentError(
            absl::StrCat("request_id \"", id, "\" is in flight on this stream already; ids must differ"));
      } else {
        tracked = true;
      }
    }
    const auto planned = [this, promised](int64_t bytes) {
      MutexLock lock(mutex_);
      *promised = bytes;
      answer_bytes_ += bytes;
    };
    // Anew for each request: a token that is taken away ends with its next request, not with the stream.
    absl::StatusOr<Caller> caller = Authorize();
    if (!caller.ok()) request = caller.status();
    parts_.service.Classify(std::move(request),
                            {.caller = CallerOf(caller),
                             .peer = peer_,
                             .method = Method::kClassifyStream,
                             .deadline = deadline_,
                             .cancelled = cancelled_,
                             .trace = trace_,
                             .planned = planned,
                             .room = room},
                            [self = shared_from_this(), id = std::move(id), promised, room,
                             tracked](absl::StatusOr<v1::ClassifyResponse> answer) mutable {
                              self->Answer(id, *promised, tracked, std::move(room), std::move(answer));
                            });
  }

  // On an executor's thread, or inside Handle.
  void Answer(const std::string& id, int64_t promised, bool tracked, std::shared_ptr<AnswerReservation> room,
              absl::StatusOr<v1::ClassifyResponse> answer) {
    v1::ClassifyStreamResponse message;
    message.set_request_id(id);
    if (answer.ok()) {
      *message.mutable_response() = *std::move(answer);
    } else {
      *message.mutable_error() = ToStreamError(answer.status());
    }
    grpc::ByteBuffer bytes = ToBytes(message);
    MutexLock lock(mutex_);
    // The client may use the id again as soon as it has read the answer.
    if (tracked) ids_.erase(id);
    answer_bytes_ += static_cast<int64_t>(bytes.Length()) - promised;
    answers_.push_back({std::move(bytes), std::move(room)});
    if (broken_) DropAnswers();
    MaybeWrite();
    MaybeFinish();
  }

  void OnWritten(bool ok) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    Settle(std::exchange(writing_bytes_, 0));
    writing_ = false;
    writing_room_.reset();
    if (!ok) broken_ = true;
    if (broken_) DropAnswers();
    MaybeWrite();
    MaybeRead();
    MaybeFinish();
    Release();
  }

  void OnDone(bool) {
    const auto keep = shared_from_this();
    MutexLock lock(mutex_);
    if (context_.IsCancelled()) {
      cancelled_->store(true, std::memory_order_release);
      broken_ = true;
      DropAnswers();
      MaybeFinish();
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

  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    reading_ = true;
    stream_.Read(&bytes_, &read_);
  }

  void MaybeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (reading_ || half_closed_ || broken_ || finishing_) return;
    if (in_flight_ < kMaxInFlight && answer_bytes_ < kMaxAnswerBytes) Read();
  }

  void MaybeWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || answers_.empty()) return;
    writing_ = true;
    writing_bytes_ = static_cast<int64_t>(answers_.front().bytes.Length());
    writing_room_ = std::move(answers_.front().room);
    stream_.Write(answers_.front().bytes, &written_);
    answers_.pop_front();
  }

  // An answer is out, or lost with its client.
  void Settle(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    --in_flight_;
    answer_bytes_ -= bytes;
    parts_.service.ledger().Answer();
  }

  void DropAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (; !answers_.empty(); answers_.pop_front()) Settle(static_cast<int64_t>(answers_.front().bytes.Length()));
  }

  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool ended = half_closed_ || broken_ || closing_ || !refused_.ok();
    if (!ended || finishing_ || in_flight_ > 0) return;
    finishing_ = true;
    const absl::Status status = !refused_.ok()            ? refused_
                                : half_closed_ || broken_ ? absl::OkStatus()
                                                          : DrainingError();
    stream_.Finish(ToGrpcStatus(status), &finished_);
  }

  // Lets go of the call when no operation is left. Requests in flight still hold it.
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (tags_ > 0 || reading_ || writing_) return;
    parts_.long_calls.Remove(self_);
    self_.reset();  // whoever holds the lock keeps the call too
  }

  std::shared_ptr<StreamCall> TakeSelf() {
    MutexLock lock(mutex_);
    return std::move(self_);
  }

  CallParts& parts_;
  CallQueue& queue_;
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);
  const LiveCall live_{parts_};
  MemberTag<StreamCall> requested_{*this, &StreamCall::OnRequested};
  MemberTag<StreamCall> read_{*this, &StreamCall::OnRead};
  MemberTag<StreamCall> written_{*this, &StreamCall::OnWritten};
  MemberTag<StreamCall> finished_{*this, &StreamCall::OnFinished};
  MemberTag<StreamCall> done_{*this, &StreamCall::OnDone};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer bytes_;             // of the read that is outstanding
  absl::Time deadline_;                // constant after OnRequested
  std::optional<TraceContext> trace_;  // constant after OnRequested
  Credentials credentials_;            // constant after OnRequested
  std::string peer_;                   // constant after OnRequested

  Mutex mutex_;
  std::shared_ptr<StreamCall> self_ ABSL_GUARDED_BY(mutex_);  // set while gRPC holds a tag of this call
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  int tags_ ABSL_GUARDED_BY(mutex_) = 0;  // of done_ and finished_, those yet to come
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;   // not yet written, and promised to requests in flight
  int64_t writing_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of these, what gRPC is writing
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more comes from the client
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;       // nothing more reaches the client
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;      // the server wants to end the call
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;    // Finish was called
  absl::flat_hash_set<std::string> ids_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> answers_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<AnswerReservation> writing_room_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void PostClassifyStream(CallParts& parts, CallQueue& queue) {
  auto call = std::make_shared<StreamCall>(parts, queue);
  queue.Post([&](grpc::ServerCompletionQueue* cq) { call->Request(cq); });
}

}  // namespace vitrine
