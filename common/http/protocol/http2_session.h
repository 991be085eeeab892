// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_SESSION_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_SESSION_H_

#include <nghttp2/nghttp2.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/http/connection.h"
#include "common/http/protocol/flow_window.h"
#include "common/http/protocol/http2_stream.h"

namespace vitrine {

// HTTP/2 on one connection. nghttp2 handles frames and protocol rules; this class handles streams, windows, abuse
// points and the end of the connection. nghttp2's callbacks are in http2_frames.cc, output is in http2_output.cc.
class Http2Session final : public HttpProtocol {
 public:
  Http2Session(HttpConnection& connection, std::string first);
  ~Http2Session() override;

  void OnReady(bool readable, bool writable, bool failed) override;
  void OnWoken() override;
  void OnTick() override;
  void StartLeaving(CloseReason reason) override;
  void End() override;
  bool CutOff(CloseReason reason, const char* why) override;
  void OnClosed() override;
  bool HasRequests() const override { return !streams_.empty(); }
  std::optional<EventLoop::Time> UnsentSince() const override;
  HttpConnectionStatus Describe() const override;

 private:
  friend struct Http2Frames;
  using Time = EventLoop::Time;
  using StreamMap = std::unordered_map<int32_t, std::shared_ptr<Http2Stream>>;
  // Two GOAWAYs are sent. Requests that are on their way when the first GOAWAY is sent are still accepted.
  enum class Leaving { kNo, kAnnounced, kFinal };

  Time Now() const { return connection_.loop().now(); }
  void Read();
  // Charges the frames that begin in `bytes`. Returns false if the connection has too few points.
  bool ChargeFrames(absl::string_view bytes);
  void Feed(absl::string_view bytes);
  // Handles the queued calls of other threads, writes pending output, and sets the events to wait for.
  void Continue();
  void DeliverMail();
  void Queue(Http2Stream& stream, HttpStream::Part part);
  // Writes pending frames. Returns false if the connection was closed.
  bool Flush();
  void Fill();
  void ReleaseWritten();
  void SayFailure();
  // Returns the reason to report for a connection that nghttp2 has ended.
  CloseReason EndReason() const;
  // Schedules the end of the connection with GOAWAY. Further input and calls of other threads are ignored.
  void Fail(CloseReason reason, uint32_t code, const char* why);
  bool Spend(double points, const char* why);
  void Announce();
  void SubmitFinal();
  void Submit(Http2Stream& stream, const HttpStream::Part& part, nghttp2_data_provider* provider);
  void Reset(Http2Stream& stream, uint32_t code);
  void CheckRates();
  void ReportCutOff(StreamCutOff reason) const;

  // Called by http2_frames.cc:
  std::shared_ptr<Http2Stream> Find(int32_t id) const;
  bool BeginRequest(int32_t id);
  void ChargeUnwantedHead(const nghttp2_frame_hd& head);
  void Dispatch(Http2Stream& stream);
  // Answers a request that no handler gets, and frees its headers.
  void Refuse(Http2Stream& stream, int code, const std::string& why);
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
  std::string first_;  // bytes read before this object existed
  int64_t requests_ = 0;
  size_t step_ = std::numeric_limits<size_t>::max();  // maximum number of bytes of the next read

  // Position of ChargeFrames in the received bytes: payload bytes to skip (at first, those of the client's preface),
  // and the bytes of an incomplete frame header.
  size_t payload_left_ = NGHTTP2_CLIENT_MAGIC_LEN;
  std::array<uint8_t, 9> frame_head_ = {};
  size_t frame_head_bytes_ = 0;

  // Frames that the kernel has not accepted yet, and objects to release when it has accepted these frames.
  std::string out_;
  size_t out_sent_ = 0;
  uint64_t out_total_ = 0;  // number of bytes ever added to out_
  // pairs of a value of out_total_ and an object to release once the kernel has accepted bytes up to this value
  std::deque<std::pair<uint64_t, std::shared_ptr<void>>> held_;
  std::vector<std::shared_ptr<void>> held_by_frame_;  // objects to release once the frame being created is written
  bool waits_for_writable_ = false;
  std::optional<Time> blocked_since_;  // time since which the kernel has accepted no output
  uint64_t blocked_at_ = 0;

  FlowWindow window_;
  std::optional<Time> pinged_;    // time of the keepalive PING, until it is answered
  Time last_ping_ = Time::min();  // time of the client's last PING
  int ping_strikes_ = 0;
  bool has_settings_ = false;             // true: the client's first SETTINGS arrived
  std::optional<Time> head_since_;        // start time of the headers being received
  size_t head_bytes_ = 0;                 // decoded size of the headers being received
  std::shared_ptr<Http2Stream> head_of_;  // stream of the headers being received; null: none, or ignored
  int64_t body_bytes_ = 0;                // body bytes received on all streams
  Leaving leaving_ = Leaving::kNo;
  int32_t final_stream_ = 0;         // last stream that the final GOAWAY reports as processed
  bool leaves_after_first_ = false;  // true: the client is asked to leave after its first request is answered
  Time announced_ = {};
  CloseReason leaving_reason_ = CloseReason::kDone;
  bool is_broken_ = false;  // true: nghttp2 has ended the session after a protocol error
  struct Failure {
    CloseReason reason;
    uint32_t code;
    const char* why;
  };
  std::optional<Failure> failed_;  // if set, the connection ends with GOAWAY
  Time rates_checked_ = {};
};

// Returns the allocator of nghttp2's sessions. A failed allocation ends the process as a failed `new` does; nghttp2
// would otherwise end only the connection.
nghttp2_mem* Nghttp2Memory();
// Creates the nghttp2 session with its callbacks.
nghttp2_session* NewNghttp2Session(Http2Session& session, const HttpServerOptions& options);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_HTTP2_SESSION_H_
