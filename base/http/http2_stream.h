// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_HTTP2_STREAM_H_
#define VITRINE_BASE_HTTP_HTTP2_STREAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/http/connection.h"
#include "base/http/exchange.h"
#include "base/mutex.h"

namespace vitrine {

class Http2Stream;

// Http2Mailbox holds what other threads want of the streams of one connection. Thread-safe.
class Http2Mailbox {
 public:
  // What was asked of one stream since the mailbox was emptied.
  struct Mail {
    std::vector<HttpStream::Part> parts;
    size_t consumed = 0;
    std::optional<uint32_t> reset = {};
    std::optional<bool> body_awaited = {};
  };

  // Takes what was asked. Owner's thread.
  std::vector<std::pair<std::shared_ptr<Http2Stream>, Mail>> Empty();

 private:
  friend class Http2Stream;
  Mutex mutex_;
  std::vector<std::shared_ptr<Http2Stream>> listed_ ABSL_GUARDED_BY(mutex_);  // whose mail_ is not empty
};

// One request of an HTTP/2 connection. What HttpStream has is thread-safe, everything else belongs to the connection's
// thread.
class Http2Stream final : public HttpStream, public std::enable_shared_from_this<Http2Stream> {
 public:
  // `live` counts the streams of the connection that somebody holds. The connection keeps the mailbox.
  Http2Stream(int32_t id, std::shared_ptr<Watched> connection, Http2Mailbox& mailbox,
              std::shared_ptr<std::atomic<int64_t>> live, std::atomic<int64_t>& all_unsent);
  ~Http2Stream() override;

  void Send(Part&& part) override;
  void Consume(size_t bytes) override;
  void SetBodyAwaited(bool awaited) override;
  void Reset(uint32_t code) override;
  size_t unsent_bytes() const override { return static_cast<size_t>(unsent_.load(std::memory_order_relaxed)); }

  // The bytes were given to the kernel's buffer, or will never be.
  void NoteTaken(size_t bytes);
  // Drops what was not sent, and everything that Send is still given.
  void Close();

  const int32_t id;
  std::shared_ptr<HttpRequest> request = std::make_shared<HttpRequest>();
  std::shared_ptr<HttpStreamHandler> handler;  // null where the body is not wanted
  double points = 1;                           // that it costs if it is not answered: HttpAbuseLimits
  bool is_head_too_large = false;
  bool has_remote_ended = false;  // the body is whole
  bool has_sent_head = false;
  bool has_local_ended = false;                   // the last part was sent
  bool is_reset_here = false;                     // by the server's own decision
  std::optional<EventLoop::Time> answered_early;  // the response was sent, and the body still comes
  std::deque<Part> parts;                         // to be sent
  size_t sent_of_first = 0;                       // bytes of parts.front()
  bool is_deferred = false;                       // nghttp2 was told that there is nothing to send
  // Rates: when the stream began to wait for its client, and what the client took or sent since.
  std::optional<EventLoop::Time> taking_since;
  int64_t taken = 0;
  std::optional<EventLoop::Time> body_since;
  int64_t connection_bytes = 0;  // received of all streams of the connection before body_since

 private:
  friend class Http2Mailbox;
  // Calls `change` with the mail, and wakes the connection where it was empty.
  template <typename Change>
  void Post(Change change);

  const std::shared_ptr<Watched> connection_;
  Http2Mailbox& mailbox_;
  const std::shared_ptr<std::atomic<int64_t>> live_;
  std::atomic<int64_t>& all_unsent_;
  std::atomic<int64_t> unsent_ = 0;
  // Guarded by the mailbox's mutex:
  Http2Mailbox::Mail mail_;
  bool is_listed_ = false;
  bool is_closed_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_HTTP2_STREAM_H_
