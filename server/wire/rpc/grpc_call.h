// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_CALL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/http/exchange.h"
#include "base/mutex.h"
#include "server/serve/scheduling/message_bytes.h"
#include "server/wire/rpc/message_reader.h"

namespace vitrine {

class GrpcServer;

// The request of a call, once its head has been read and found right.
struct GrpcOpening {
  GrpcServer& server;
  std::shared_ptr<HttpRequest> request;
  std::shared_ptr<HttpStream> stream;
  absl::Time deadline = absl::InfiniteFuture();  // on the server's clock
  bool is_gzip = false;                          // its messages may be compressed
  bool wants_gzip = false;                       // its answers are to be
};

// One call: what all kinds have in common. Reads messages one at a time, also those that must be decompressed first,
// and sends messages and the end. A call lives until its stream is closed and whoever works on it has let go of it;
// so long it counts among the streams of its connection. Thread-safe.
class GrpcCall : public HttpStreamHandler, public std::enable_shared_from_this<GrpcCall> {
 public:
  // Messages of more than `max_message_bytes`, or than the server takes, are refused. With `is_single` the client has
  // one message to send, and must send it at the server's least rate; else it may be silent between messages.
  GrpcCall(GrpcOpening opening, int64_t max_message_bytes, bool is_single);
  ~GrpcCall() override;
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

  // Begins the call, which a shared_ptr owns by now. On the connection's thread, once.
  void Begin();

  void OnData(absl::string_view bytes) final;
  void OnEnd() final;
  void OnTooSlow() final;
  void OnClosed(bool is_answered) final;

 protected:
  // The call has begun, and nothing of it was read.
  virtual void Start() {}
  // The following functions are implemented by each kind of call. The first two are called one at a time, on the
  // connection's thread or on a worker.
  // Takes a message, or the status of one that could not be decompressed.
  virtual void OnMessage(absl::StatusOr<MessageBytes> message) = 0;
  // Is called when the client has sent all its messages.
  virtual void OnHalfClosed() = 0;
  // Is called when nothing more can be read. OnMessage and OnHalfClosed are not called any more; one may be running.
  virtual void OnFault(const absl::Status& why) { Finish(why); }
  // Is called when the stream is closed, on the connection's thread; OnMessage may be running.
  virtual void OnGone() {}
  // Is called once the deadline is past, on any thread, again and again.
  virtual void OnDeadline() { Fault(absl::DeadlineExceededError("Deadline Exceeded")); }

  // Ends the reading with OnFault, unless it has ended.
  void Fault(const absl::Status& why);
  // While reading is paused the client can send no more than its flow control window, and OnMessage does not begin.
  void PauseReading();
  void ResumeReading();

  // Sends a frame (see GrpcFrame). `held` lives until the kernel has it, or nobody takes it. Any thread; nothing is
  // sent after the end.
  void SendMessage(std::string frame, std::shared_ptr<void> held = nullptr);
  // Ends the call.
  void Finish(const absl::Status& status, std::shared_ptr<void> held = nullptr);
  // Sends the frame and ends the call with OK.
  void FinishWith(std::string frame, std::shared_ptr<void> held = nullptr);
  // Compresses the frame on a worker where the call asks for it and it is worth it, then calls `send` with it; at once,
  // on this thread, where not.
  void Compress(std::string frame, std::function<void(std::string)> send);

  const GrpcOpening& opening() const { return opening_; }
  GrpcServer& server() const { return opening_.server; }
  const HttpRequest& request() const { return *opening_.request; }
  const std::shared_ptr<std::atomic<bool>>& cancelled() const { return opening_.request->hung_up; }
  absl::Time deadline() const { return opening_.deadline; }
  int64_t max_message_bytes() const { return max_message_bytes_; }
  // The network that the client calls from: clients of different networks take turns.
  const std::string& place() const { return place_; }

  // Metadata that is sent beside the call's own. Set before anything is sent.
  HttpHeaders initial_metadata_ = {};
  HttpHeaders trailing_metadata_ = {};

 private:
  friend class GrpcServer;  // which knows when the deadline is past

  // Reads these bytes, then what has come meanwhile. Requires that this thread has set is_reading_; clears it at
  // the end, or hands it to a worker.
  void Read(absl::string_view bytes);
  // The next bytes to be read; nothing, and is_reading_ is given back, where there are none.
  bool NextBytes(std::string& bytes);
  // Keeps bytes that may not be read now, or drops them, and gives is_reading_ back. False, and neither is done, where
  // they may be read.
  bool KeepUnread(absl::string_view rest);
  void Decompress(MessageReader::Message message, std::string rest);
  // Calls `first`, unless it is null, then Read on a worker.
  void ReadLater(std::function<void()> first, std::string rest);
  // False if it had ended before.
  bool EndReading();
  void Await(bool body);
  void Send(std::string frame, const absl::Status* end, std::shared_ptr<void> held);

  const GrpcOpening opening_;
  const int64_t max_message_bytes_;
  const bool is_single_;
  const std::string place_;
  std::optional<std::list<GrpcCall*>::iterator> expiring_;  // of the server's list; nothing without a deadline

  MessageReader reader_;      // of whoever reads
  bool awaits_body_ = false;  // of whoever reads
  Mutex read_mutex_;
  bool is_reading_ ABSL_GUARDED_BY(read_mutex_) = false;  // some thread reads, or will
  bool is_paused_ ABSL_GUARDED_BY(read_mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(read_mutex_) = false;  // nothing more comes
  bool is_over_ ABSL_GUARDED_BY(read_mutex_) = false;    // nothing more is read
  std::string unread_ ABSL_GUARDED_BY(read_mutex_);      // came while nobody could read it
  BudgetShare unread_share_ ABSL_GUARDED_BY(read_mutex_);

  Mutex send_mutex_;
  bool has_begun_ ABSL_GUARDED_BY(send_mutex_) = false;  // the head was sent
  bool has_finished_ ABSL_GUARDED_BY(send_mutex_) = false;
};

// The response that ends a call before it has begun: Trailers-Only. For HttpStream::Send.
HttpStream::Part TrailersOnly(const HttpRequest& request, const absl::Status& status, HttpHeaders beside = {});

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_CALL_H_
