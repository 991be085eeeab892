// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_STREAM_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_STREAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "common/http/byte_budget.h"
#include "common/http/connection.h"
#include "common/http/exchange.h"
#include "common/mutex.h"

namespace vitrine {

class Http2Stream;

// Queue of calls on the streams of one connection, most of them made by other threads. Thread-safe.
class Http2Mailbox {
 public:
  // Calls on one stream since the mailbox was last emptied.
  struct Mail {
    std::vector<HttpStream::Part> parts;
    size_t consumed = 0;
    std::optional<uint32_t> reset = {};
    std::optional<bool> body_awaited = {};
  };

  // Turns off the wake-ups of the connection until Empty is called, which must be soon. Call on the connection's
  // thread.
  void Attend() { is_attended_.store(true, std::memory_order_relaxed); }
  // Removes and returns all mail. Call on the connection's thread.
  std::vector<std::pair<std::shared_ptr<Http2Stream>, Mail>> Empty();

 private:
  friend class Http2Stream;
  Mutex mutex_;
  std::vector<std::shared_ptr<Http2Stream>> listed_ ABSL_GUARDED_BY(mutex_);  // streams that have mail
  // True: Empty will be called soon, so new mail does not wake the connection. Only the connection's thread writes this
  // flag. It clears the flag only under mutex_, so that Empty returns all mail that did not wake the connection.
  std::atomic<bool> is_attended_ = false;
};

// One request of an HTTP/2 connection. The functions of HttpStream are thread-safe; everything else belongs to the
// connection's thread.
class Http2Stream final : public HttpStream, public std::enable_shared_from_this<Http2Stream> {
 public:
  // `live`: counter of the connection's existing streams. `connection` keeps the mailbox alive.
  Http2Stream(int32_t id, std::shared_ptr<Watched> connection, Http2Mailbox& mailbox,
              std::shared_ptr<std::atomic<int64_t>> live, std::atomic<int64_t>& all_unsent);
  ~Http2Stream() override;

  void Send(Part&& part) override;
  void Consume(size_t bytes) override;
  void SetBodyAwaited(bool awaited) override;
  void Reset(uint32_t code) override;
  size_t unsent_bytes() const override { return static_cast<size_t>(unsent_.load(std::memory_order_relaxed)); }

  // Passes body bytes to the handler. Returns the number of bytes that the handler consumed during the call.
  size_t Deliver(absl::string_view bytes);
  // Records that `bytes` bytes of the parts were passed on for sending, or dropped.
  void NoteTaken(size_t bytes);
  // Drops all unsent parts, and all parts of later calls of Send.
  void Close();

  const int32_t id;
  std::shared_ptr<HttpRequest> request = std::make_shared<HttpRequest>();
  BudgetShare head_share;                      // bytes of the request's headers and objects
  std::shared_ptr<HttpStreamHandler> handler;  // null if the body is not read
  double points = 1;                           // points charged if the request is not answered; see HttpAbuseLimits
  bool is_head_too_large = false;
  bool has_late_type = false;     // true: a content-type beyond the limit of headers was kept
  bool has_remote_ended = false;  // true: the body is complete
  bool has_sent_head = false;
  bool has_local_ended = false;                   // true: the last part was sent
  bool is_reset_here = false;                     // true: the server reset the stream
  std::optional<EventLoop::Time> answered_early;  // time at which the last part was sent, if the body was incomplete
  std::deque<Part> parts;                         // parts that are not completely sent
  size_t sent_of_first = 0;                       // bytes of parts.front() already sent
  bool is_deferred = false;                       // true: nghttp2 requests no data until a part is queued
  // For the minimum rate of the response: time since which the stream waits for its client, and bytes sent since then.
  std::optional<EventLoop::Time> taking_since;
  int64_t taken = 0;
  std::optional<EventLoop::Time> body_since;
  int64_t connection_bytes = 0;  // body bytes that the connection had received at body_since

 private:
  friend class Http2Mailbox;
  // Calls `change` with this stream's mail. Wakes the connection if the mailbox was empty before and is not attended.
  template <typename Change>
  void Post(Change change);

  const std::shared_ptr<Watched> connection_;
  Http2Mailbox& mailbox_;
  const std::shared_ptr<std::atomic<int64_t>> live_;
  std::atomic<int64_t>& all_unsent_;
  std::atomic<int64_t> unsent_ = 0;
  // Used only by the connection's thread. Counts the bytes consumed during Deliver, so that the mailbox's lock is not
  // taken for each DATA frame.
  size_t consumed_at_once_ = 0;
  bool is_delivering_ = false;
  // Guarded by the mailbox's mutex:
  Http2Mailbox::Mail mail_;
  bool is_listed_ = false;
  bool is_closed_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_STREAM_H_
