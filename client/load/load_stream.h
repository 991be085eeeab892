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
#include "client/servers.h"

namespace vitrine {

// The requests of a load over one connection as messages of ClassifyStream, which is opened when the first is sent and
// again after it has ended.
//
// A server holds at most kInFlight requests of a stream; what is sent beyond that waits here, in order. A stream that
// ends takes the requests with it that it had carried, each with the stream's status; those that waited go over the
// next, unless the stream carried none.
class LoadStream {
 public:
  static constexpr int kInFlight = 64;  // the contract's, proto/vitrine/v1/classifier.proto

  // What became of a request: as a unary call would have ended.
  struct Outcome {
    void* caller = nullptr;
    grpc::Status status = {};
    grpc::ByteBuffer answer = {};  // a ClassifyResponse, where the status is OK
  };
  using Outcomes = std::vector<Outcome>;

  // `queue` must be read by one thread, which hands every event to OnEvent.
  LoadStream(std::shared_ptr<Servers> servers, grpc::CompletionQueue& queue);

  // Sends `request`, a ClassifyRequest that must outlive this; its outcome names `caller`. `expires` and `now` are
  // nanoseconds of one clock; INT64_MAX: never. Any thread.
  void Send(void* caller, const grpc::ByteBuffer& request, int64_t expires, int64_t now);

  // Of the thread that reads the queue:
  static void OnEvent(void* tag, bool ok, int64_t now, Outcomes& outcomes);
  // Gives up what has expired; an answer that still comes is dropped.
  void Expire(int64_t now, Outcomes& outcomes);
  // Ends the stream, if it is open, and with it all requests that have no outcome.
  void Cancel();
  // Whether events are still to come from the queue.
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
    bool given_up = false;  // its caller knows; the server may still hold it
  };

  // All with mutex_ held.
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

  std::mutex mutex_;  // guards all below
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;  // null: no stream is open
  grpc::ByteBuffer message_;                                    // of the read under way
  grpc::Status status_;                                         // of the end
  bool started_ = false, writing_ = false, ending_ = false, finished_ = false, cancelled_ = false, unreadable_ = false;
  bool carried_ = false;              // a request was sent over this stream
  uint64_t next_id_ = 0;              // ids are never used again, so that no answer meets another's caller
  std::map<uint64_t, Waiting> sent_;  // and not answered, those given up included
  std::deque<Waiting> unsent_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_STREAM_H_
