// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_HTTP2_SESSION_H_
#define VITRINE_BASE_HTTP_HTTP2_SESSION_H_

#include <nghttp2/nghttp2.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/http/connection.h"
#include "base/http/flow_window.h"
#include "base/http/http2_stream.h"

namespace vitrine {

// HTTP/2 on one connection: nghttp2 reads and writes the frames and keeps the rules of the protocol; streams, windows,
// what frames cost, and how the connection ends are here. http2_frames.cc has what nghttp2 calls.
class Http2Session final : public HttpProtocol {
 public:
  Http2Session(HttpConnection& connection, std::string first);
  ~Http2Session() override;

  void OnReady(bool readable, bool writable, bool failed) override;
  void OnWoken() override;
  void OnTick() override;
  void StartLeaving(CloseReason reason) override;
  void End() override;
  void OnClosed() override;
  bool HasRequests() const override { return !streams_.empty(); }
  std::optional<EventLoop::Time> UnsentSince() const override;
  HttpConnectionStatus Describe() const override;

 private:
  friend struct Http2Frames;
  using Time = EventLoop::Time;
  using StreamMap = std::unordered_map<int32_t, std::shared_ptr<Http2Stream>>;
  // GOAWAY is sent twice: first it lets requests that are on their way still come.
  enum class Leaving { kNo, kAnnounced, kFinal };

  Time Now() const { return connection_.loop().now(); }
  void Read();
  void Feed(absl::string_view bytes);
  // Does what other threads have asked for, writes what can be written, and chooses what to wait for.
  void Continue();
  void DeliverMail();
  void Queue(Http2Stream& stream, HttpStream::Part part);
  // False if the connection was closed.
  bool Flush();
  void Fill();
  void ReleaseWritten();
  void SayFailure();
  // Why a connection that ends by the rules of HTTP/2 does so.
  CloseReason EndReason() const;
  // Ends the connection with GOAWAY. What has not been handled yet is not.
  void Fail(CloseReason reason, uint32_t code, const char* why);
  bool Spend(double points, const char* why);
  void Announce();
  void SubmitFinal();
  void Submit(Http2Stream& stream, const HttpStream::Part& part, nghttp2_data_provider* provider);
  void Reset(Http2Stream& stream, uint32_t code);
  void CheckRates();

  // For http2_frames.cc.
  std::shared_ptr<Http2Stream> Find(int32_t id) const;
  bool BeginRequest(int32_t id);
  void ChargeUnwantedHead(const nghttp2_frame_hd& head);
  void Dispatch(Http2Stream& stream);
  void EndBody(Http2Stream& stream);
  void OnData(int32_t id, absl::string_view bytes);
  void OnPing(const nghttp2_ping& ping, bool is_answer);
  void OnSent(const nghttp2_frame& frame);
  void OnStreamClosed(int32_t id);
  ssize_t ReadParts(Http2Stream& stream, uint8_t* to, size_t size, uint32_t* flags);

  HttpConnection& connection_;
  HttpCommon& common_;
  const HttpServerOptions& options_;
  std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)> session_;
  Http2Mailbox mailbox_;
  const std::shared_ptr<std::atomic<int64_t>> live_ = std::make_shared<std::atomic<int64_t>>(0);
  StreamMap streams_;
  std::string first_;  // read before this began
  int64_t requests_ = 0;

  // Written frames that the kernel has not taken; and who is told once it has.
  std::string out_;
  size_t out_sent_ = 0;
  uint64_t out_total_ = 0;                                       // bytes that were ever in out_
  std::deque<std::pair<uint64_t, std::shared_ptr<void>>> held_;  // until so many of them are written
  std::vector<std::shared_ptr<void>> held_by_frame_;             // of the frame that is being made
  bool waits_for_writable_ = false;
  std::optional<Time> blocked_since_;  // the kernel takes nothing
  uint64_t blocked_at_ = 0;

  FlowWindow window_;
  std::optional<Time> pinged_;    // an answer to the keepalive is awaited since
  Time last_ping_ = Time::min();  // of the client
  int ping_strikes_ = 0;
  bool has_settings_ = false;             // the client's first have come
  std::optional<Time> head_since_;        // a head is on its way since
  size_t head_bytes_ = 0;                 // of it, decoded
  std::shared_ptr<Http2Stream> head_of_;  // whose it is; null where it is not wanted
  int64_t body_bytes_ = 0;                // received of all streams
  Leaving leaving_ = Leaving::kNo;
  int32_t final_stream_ = 0;         // the last one that the last GOAWAY says is processed
  bool leaves_after_first_ = false;  // once its first request is answered
  Time announced_ = {};
  CloseReason leaving_reason_ = CloseReason::kDone;
  bool is_broken_ = false;  // nghttp2 has ended the session for a breach of the protocol
  struct Failure {
    CloseReason reason;
    uint32_t code;
    const char* why;
  };
  std::optional<Failure> failed_;  // the connection ends with GOAWAY
  Time rates_checked_ = {};
};

// What nghttp2 calls.
nghttp2_session* NewNghttp2Session(Http2Session& session, const HttpServerOptions& options);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_HTTP2_SESSION_H_
