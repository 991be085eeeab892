// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_CALL_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_CALL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http/exchange.h"
#include "common/http/workers.h"
#include "common/mutex.h"
#include "server/serve/scheduling/message_bytes.h"
#include "server/wire/rpc/message_reader.h"

namespace vitrine {

class GrpcServer;

// The request of a call, once its headers are read and valid.
struct GrpcOpening {
  GrpcServer& server;
  std::shared_ptr<HttpRequest> request;
  std::shared_ptr<HttpStream> stream;
  absl::Time deadline = absl::InfiniteFuture();  // in the time of GrpcServer::clock()
  bool is_gzip = false;                          // true: request messages may be compressed
  bool wants_gzip = false;                       // true: answers should be compressed
};

// Base class of calls. Reads one message at a time, decompresses it if needed, and sends messages and the status. A
// call is destroyed when its stream is closed and no thread uses it; until then it counts as a stream of its
// connection. Thread-safe.
class GrpcCall : public HttpStreamHandler, public std::enable_shared_from_this<GrpcCall> {
 public:
  // Rejects messages larger than `max_message_bytes` or the server's limit. If `is_single`, the client must send one
  // message, at the server's minimum rate or faster. Otherwise the client may pause between messages.
  GrpcCall(GrpcOpening opening, int64_t max_message_bytes, bool is_single);
  ~GrpcCall() override;
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

  // Begins the call, which a shared_ptr must own. Call once, on the connection's thread.
  void Begin();

  void OnData(absl::string_view bytes) final;
  void OnEnd() final;
  void OnTooSlow() final;
  void OnClosed(bool is_answered) final;

 protected:
  // Runs at the beginning of the call, before any bytes are read and before OnDeadline can run.
  virtual void Start() {}
  // Derived classes override the functions below. OnMessage and OnHalfClosed run one at a time, on the connection's
  // thread or a worker. OnMessage handles a message, or the error of a message that could not be decompressed.
  virtual void OnMessage(absl::StatusOr<MessageBytes> message) = 0;
  // Runs when the client has sent all its messages.
  virtual void OnHalfClosed() = 0;
  // Runs when reading has failed. OnMessage and OnHalfClosed are not called after that, but one of them may still be
  // running.
  virtual void OnFault(const absl::Status& why) { Finish(why); }
  // Runs on the connection's thread when the stream is closed; OnMessage may be running.
  virtual void OnGone() {}
  // Runs repeatedly after the deadline, on any thread.
  virtual void OnDeadline() { Fault(absl::DeadlineExceededError("Deadline Exceeded")); }

  // Stops reading and calls OnFault. Does nothing if reading has already ended.
  void Fault(const absl::Status& why);
  // Pauses reading until ResumeReading: OnMessage is not called, and flow control soon stops the client.
  void PauseReading();
  void ResumeReading();

  // Sends a frame (see GrpcFrame), except if the call has ended. Releases `held` once the kernel has the frame or the
  // frame is dropped. Thread-safe.
  void SendMessage(std::string frame, std::shared_ptr<void> held = nullptr);
  // Ends the call with `status`.
  void Finish(const absl::Status& status, std::shared_ptr<void> held = nullptr);
  // Sends the frame and ends the call with OK.
  void FinishWith(std::string frame, std::shared_ptr<void> held = nullptr);
  // Compresses the frame on a worker, then calls `send` with it. If the call does not use gzip, if the frame is small
  // or if no worker is free, calls `send` at once with the unchanged frame.
  void Compress(std::string frame, std::function<void(std::string)> send);
  // Runs `work` on one of the workers, as work of `account`. If `work` throws, as a library may, ends the call with
  // INTERNAL. RESOURCE_EXHAUSTED, with a retry delay: a limit of the workers is reached.
  absl::Status RunOn(Workers& workers, const std::string& account, std::function<void()> work);

  const GrpcOpening& opening() const { return opening_; }
  GrpcServer& server() const { return opening_.server; }
  const HttpRequest& request() const { return *opening_.request; }
  const std::shared_ptr<std::atomic<bool>>& cancelled() const { return opening_.request->hung_up; }
  absl::Time deadline() const { return opening_.deadline; }
  int64_t max_message_bytes() const { return max_message_bytes_; }
  // Returns the name of the client's network, the account under which Workers do the work of anonymous callers.
  const std::string& network() const { return request().peer->network; }

  // Additional metadata of this call. Derived classes must set it before anything is sent.
  HttpHeaders initial_metadata_ = {};
  HttpHeaders trailing_metadata_ = {};

 private:
  friend class GrpcServer;  // GrpcServer calls OnDeadline

  // Bytes that were received but not read.
  struct Unread {
    std::string bytes = {};
    size_t read = 0;  // number of bytes at the front that were read
    BudgetShare share;

    absl::string_view rest() const { return absl::string_view(bytes).substr(read); }
    void Clear();
  };

  // Reads `bytes`, then the bytes that arrived in the meantime. The calling thread must have set is_reading_. Read
  // clears is_reading_ at the end, except if a worker continues to read.
  void Read(absl::string_view bytes);
  // Takes the next bytes to read. If there are none, clears is_reading_ and returns false.
  bool NextBytes(absl::string_view& bytes);
  // Stores `rest`, the bytes that were not read, in taken_. Returns false if the budget is used up.
  bool Keep(absl::string_view rest);
  // If reading is paused, keeps the bytes; if reading has ended, drops them. In both cases clears is_reading_ and
  // returns true. Otherwise returns false.
  bool StopReading(absl::string_view rest);
  void Decompress(MessageReader::Message message);
  // Queues work for a worker: first calls `first` if it is not null, then reads taken_.
  void ReadLater(std::function<void()> first);
  // Ends reading. Returns false if it had already ended.
  bool EndReading();
  void Await(bool body);
  void Send(std::string frame, const absl::Status* end, std::shared_ptr<void> held);

  const GrpcOpening opening_;
  const int64_t max_message_bytes_;
  const bool is_single_;
  // position in GrpcServer::expiring_; nullopt if the call has no deadline
  std::optional<std::multimap<absl::Time, GrpcCall*>::iterator> expiring_;

  MessageReader reader_;      // used by the reading thread
  bool awaits_body_ = false;  // used by the reading thread
  Unread taken_;              // bytes that come before unread_; used by the reading thread, or under read_mutex_
  Mutex read_mutex_;
  bool is_reading_ ABSL_GUARDED_BY(read_mutex_) = false;  // true: a thread reads or will read
  bool is_paused_ ABSL_GUARDED_BY(read_mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(read_mutex_) = false;  // true: the client has sent everything
  bool is_over_ ABSL_GUARDED_BY(read_mutex_) = false;    // true: reading has ended
  Unread unread_ ABSL_GUARDED_BY(read_mutex_);           // bytes that arrived while reading was busy or paused

  Mutex send_mutex_;
  bool has_begun_ ABSL_GUARDED_BY(send_mutex_) = false;  // true: the headers were sent
  bool has_finished_ ABSL_GUARDED_BY(send_mutex_) = false;
};

// Returns the response that rejects a call before it begins (Trailers-Only), for HttpStream::Send.
HttpStream::Part TrailersOnly(const HttpRequest& request, const absl::Status& status, HttpHeaders beside = {});

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_CALL_H_
