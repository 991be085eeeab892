// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_HTTP1_SESSION_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_HTTP1_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/byte_budget.h"
#include "common/http/connection.h"
#include "common/http/exchange.h"
#include "common/http/protocol/request_parser.h"
#include "common/mutex.h"

namespace vitrine {

// HTTP/1.1 and 1.0 on one connection, one request at a time. Requests are read in http1_requests.cc; everything else is
// in http1_session.cc. A handler may respond on any thread; all other functions run on the connection's thread.
class Http1Session final : public HttpProtocol {
 public:
  // For the arguments, see MakeHttp1.
  Http1Session(HttpConnection& connection, std::string first)
      : connection_(connection),
        options_(connection.common().options),
        received_(std::move(first)),
        received_share_(connection.common().received) {
    unparsed_ = received_;
    BeginHead();
  }

  void OnReady(bool readable, bool writable, bool failed) override;
  void OnWoken() override;
  void OnTick() override;
  void StartLeaving(CloseReason reason) override;
  void End() override;
  void OnClosed() override;
  bool HasRequests() const override { return phase_ != Phase::kHead; }
  std::optional<EventLoop::Time> UnsentSince() const override {
    return phase_ == Phase::kSending ? std::optional<Time>(since_) : std::nullopt;
  }
  bool AwaitsClient() const override { return phase_ == Phase::kHead || phase_ == Phase::kBody; }
  HttpConnectionStatus Describe() const override {
    return {.peer = "",
            .protocol = "http/1.1",
            .age = {},
            .requests = requests_,
            .streams = HasRequests() ? 1 : 0,
            .unsent_bytes = static_cast<int64_t>(UnsentBytes())};
  }

 private:
  class Reply;  // HttpReply that sends the handler's response
  using Next = ByteStream::Result::Next;
  using Time = EventLoop::Time;
  enum class Phase { kHead, kBody, kWorking, kSending };
  // Result of a phase's function: wait for an event, or call the function of the current phase again.
  enum class Step { kWait, kAgain };
  // Maximum number of bytes per read that are not part of the current body. While a request is being answered, no more
  // is read once so many bytes are unparsed.
  static constexpr size_t kMostAhead = size_t{16} << 10;

  Time Now() const { return connection_.loop().now(); }
  // Runs the phases until one of them waits or the limit on steps is reached.
  void Advance();
  // Sets the events that the current phase waits for.
  void Await();
  // Stores the unparsed bytes, because other connections use the read buffer next. Counts these bytes and the headers
  // in the budget of received bytes. If the budget is too small, drops the bytes, makes this request the last one, and
  // returns false; the phase may have changed. Later calls return true.
  bool Keep();
  // Returns the bytes of the headers in memory that count in the budget of received bytes.
  int64_t CountedHeadBytes() const;
  // In kWorking, detects that the client has disconnected, and reads ahead.
  Step WatchClient();

  // --- requests (http1_requests.cc)

  // Appends available bytes to unparsed_. Returns true if there were any. Reads once per call of Advance, and once more
  // if a body begins, so that other connections are not delayed; the event loop calls Advance again while more bytes
  // are available.
  bool ReadMore();
  // Moves the bytes that were not parsed into received_, and frees the rest of its memory.
  void StoreUnparsed();
  // Waits for the next request.
  void BeginHead();
  // Reads headers; calls Serve once they are complete. Answers at once if they cannot be parsed.
  Step ReadHead();
  // Handles a request whose headers are complete: answers it, passes it to a worker thread, or begins to read its body.
  void Serve();
  // Begins to read a body, unless its headers already show that it must be rejected.
  void BeginBody();
  // Reads the body; calls GiveBody once it is complete or in error.
  Step ReadBody();
  // Passes the body, or the reason why it is rejected, to the handler on a worker thread.
  void GiveBody(absl::StatusOr<std::string> body);

  // --- responses

  // Makes the response by calling `work` on a worker thread. `on_a_body`: true if `work` reads a received body.
  void Work(bool on_a_body, std::function<void(std::shared_ptr<HttpReply>)> work);
  // Begins to send a response.
  void Answer(HttpResponse response);
  // Sends the rest of the response; then waits for the next request or closes the connection.
  Step SendMore();
  // Returns the number of bytes of the response that the kernel has not accepted.
  size_t UnsentBytes() const { return phase_ == Phase::kSending ? head_.size() + body_.size() - sent_ : 0; }
  // Returns true if fewer than least_rate bytes per second were transferred after the grace period.
  bool IsSlow(size_t bytes, std::chrono::nanoseconds grace) const;

  HttpConnection& connection_;
  const HttpServerOptions& options_;

  Phase phase_ = Phase::kHead;
  Time since_ = {};  // start of the phase; in kHead, arrival of the headers' first byte, or zero before that byte
  // Bytes received and not yet parsed: in received_, or, if it is empty, in the connection's read buffer.
  absl::string_view unparsed_;
  std::string received_;
  BudgetShare received_share_;  // capacity of received_, and headers, in the budget of received bytes
  std::unique_ptr<HttpRequestParser> parser_;
  std::shared_ptr<HttpRequest> request_;  // null if the headers could not be parsed
  size_t head_bytes_ = 0;                 // size of the headers of request_, as compared with the limit
  HttpHandling::WithBody with_body_;
  bool is_whole_ = true;      // true: the whole request was read
  bool is_gone_ = false;      // true: the client sends no more data, or no more is read
  bool is_slow_ = false;      // true: the client sent a body more slowly than least_rate
  bool has_no_room_ = false;  // true: the budget was too small; bytes were dropped, and the client may be sending more
  bool may_read_ = true;      // false: the running call of Advance has already read; the next call may read again
  Next waits_for_ = Next::kAwaitReadable;
  // The response being sent.
  std::string head_, body_;
  size_t sent_ = 0;  // number of bytes of head_ and body_ already sent
  std::shared_ptr<void> held_;
  bool keep_ = false;                   // true: the connection stays open after the response
  std::optional<CloseReason> leaving_;  // if set, the next response is the last
  int64_t requests_ = 0;

  Mutex mutex_;
  std::optional<HttpResponse> reply_ ABSL_GUARDED_BY(mutex_);  // set by the handler during kWorking
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_HTTP1_SESSION_H_
