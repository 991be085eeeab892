// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_STREAM_H_
#define VITRINE_CLIENT_LOAD_LOAD_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lib/servers.h"

namespace vitrine {

// Sends the requests of a load over one connection, as messages of ClassifyStream. Opens the stream for the first
// request, and again after the stream has ended.
//
// At most kInFlight requests of a stream are at the server. Further requests wait here, in order. When a stream ends,
// the requests sent on it get its status, and the waiting requests are sent on the next stream. If no request was sent
// on the ended stream, the waiting requests also get its status.
class LoadStream {
 public:
  static constexpr int kInFlight = 64;  // limit of the contract, proto/vitrine/v1/classifier.proto

  // Result of a request, in the form of a unary call's result.
  struct Outcome {
    void* caller = nullptr;
    grpc::Status status = {};
    grpc::ByteBuffer answer = {};  // a ClassifyResponse, if the status is OK
  };
  using Outcomes = std::vector<Outcome>;

  // `queue` must be read by a single thread, which passes every event to OnEvent.
  LoadStream(std::shared_ptr<Servers> servers, grpc::CompletionQueue& queue);

  // Sends `request`, a ClassifyRequest that must outlive this object. The outcome has `caller`, which identifies the
  // request. `expires` and `now` are nanoseconds of one clock; INT64_MAX: never. Thread-safe.
  void Send(void* caller, const grpc::ByteBuffer& request, int64_t expires, int64_t now);

  // Only the thread that reads the queue may call the following functions.
  static void OnEvent(void* tag, bool ok, int64_t now, Outcomes& outcomes);
  // Adds the outcome DEADLINE_EXCEEDED for expired requests. Their late answers are dropped.
  void Expire(int64_t now, Outcomes& outcomes);
  // Cancels the stream, if open, and all requests without an outcome.
  void Cancel();
  // Returns true if the queue will have further events.
  bool IsOpen();

 private:
  enum class Operation { kStart, kRead, kWrite, kFinish };
  struct Tag {
    LoadStream* stream;
    Operation operation;
  };
  struct Waiting {
    void* caller;
    int64_t expires;
    const grpc::ByteBuffer* request;
    bool given_up = false;  // true: the caller has an outcome, but the server may still have the request
  };

  // The functions below require mutex_.
  void Advance(int64_t now);
  void Open();
  void Write(int64_t now);
  void OnRead(int64_t now, Outcomes& outcomes);
  void OnAnswer(absl::string_view bytes, const grpc::Slice& slice, Outcomes& outcomes);
  void Abandon();
  void End(int64_t now, Outcomes& outcomes);

  const std::shared_ptr<Servers> servers_;
  grpc::CompletionQueue& queue_;
  Tag start_{this, Operation::kStart}, read_{this, Operation::kRead};
  Tag write_{this, Operation::kWrite}, finish_{this, Operation::kFinish};

  std::mutex mutex_;  // guards all members below
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;  // null: no stream is open
  grpc::ByteBuffer message_;                                    // message of the current read
  grpc::Status status_;                                         // status of the ended stream
  bool started_ = false, writing_ = false, ending_ = false, finished_ = false, cancelled_ = false, unreadable_ = false;
  bool carried_ = false;              // true: a request was sent on this stream
  uint64_t next_id_ = 0;              // never reused, so that an answer cannot reach another caller
  std::map<uint64_t, Waiting> sent_;  // requests without an answer, including expired requests
  std::deque<Waiting> unsent_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_STREAM_H_
