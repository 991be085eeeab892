// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/http2_session.h"

#include <algorithm>
#include <cstring>

#include "common/http/protocol/http2.h"

namespace vitrine {
namespace {

using Next = ByteStream::Result::Next;

// Maximum number of bytes per read from a connection that recently spent points, or whose requests are small. The bytes
// may be many frames or requests, which would delay the other connections.
constexpr size_t kFewBytes = size_t{8} << 10;
constexpr size_t kSmallRequest = size_t{1} << 10;  // bytes; compared with the mean size of the requests of one read
constexpr size_t kMostQueuedFrames = 4096;
constexpr size_t kSmallData = 64;
constexpr std::chrono::seconds kRateCheck{1};
// Maximum delay of the second GOAWAY, which is sent earlier if the client answers the PING after the first GOAWAY.
constexpr std::chrono::seconds kLeavingTime{1};
constexpr uint8_t kBandwidthPing[8] = {'v', 'i', 't', '-', 'r', 'a', 't', 'e'};
constexpr uint8_t kKeepalivePing[8] = {'v', 'i', 't', '-', 'k', 'e', 'e', 'p'};
constexpr uint8_t kLeavingPing[8] = {'v', 'i', 't', '-', 'l', 'e', 'f', 't'};

// Returns true if fewer than `least_rate` bytes per second were transferred after the grace period.
bool IsSlower(int64_t bytes, std::chrono::duration<double> spent, absl::Duration grace, int64_t least_rate) {
  const double beyond = spent.count() - absl::ToDoubleSeconds(grace);
  return beyond > 0 && static_cast<double>(bytes) < beyond * static_cast<double>(least_rate);
}

// Returns the points that a frame costs; see HttpAbuseLimits.
double PointsOf(uint8_t type, uint8_t flags, size_t length) {
  switch (type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_RST_STREAM:  // OnStreamClosed charges the cost
      return 0;
    case NGHTTP2_DATA:
      if (length == 0 && (flags & NGHTTP2_FLAG_END_STREAM) == 0) return 1;
      return length < kSmallData ? 1.0 / 32 : 0;
    case NGHTTP2_WINDOW_UPDATE:
      return 1.0 / 8;
    default:
      return 1;
  }
}

}  // namespace

Http2Session::Http2Session(HttpConnection& connection, std::string first)
    : connection_(connection),
      common_(connection.common()),
      options_(common_.options),
      session_(NewNghttp2Session(*this, options_), &nghttp2_session_del),
      first_(std::move(first)) {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<uint32_t>(options_.max_concurrent_streams)},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, FlowWindow::kFirst},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(options_.max_head_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, FlowWindow::kFirst);
}

Http2Session::~Http2Session() = default;

void Http2Session::OnReady(bool readable, bool, bool) {
  if (connection_.is_closed()) return;
  mailbox_.Attend();
  if (!first_.empty()) Feed(std::exchange(first_, std::string()));
  if (readable && !failed_.has_value()) Read();
  if (!connection_.is_closed()) Continue();
}

void Http2Session::OnWoken() {
  mailbox_.Attend();
  if (connection_.stream().HasPending() && !failed_.has_value()) Read();
  if (!connection_.is_closed()) Continue();
}

// Reads once per round of the event loop, so that other connections are not delayed.
void Http2Session::Read() {
  std::vector<char>& scratch = connection_.scratch();
  const size_t most = connection_.IsSuspicious() ? kFewBytes : std::min(step_, scratch.size());
  const ByteStream::Result result = connection_.stream().Read(scratch.data(), most);
  const int updates = connection_.stream().TakeKeyUpdates();
  if (updates > 0 && !Spend(kKeyUpdatePoints * updates, "too many key updates")) return;
  if (result.next == Next::kGone) {
    return connection_.Close(EndReason());
  }
  if (result.next == Next::kAwaitWritable) waits_for_writable_ = true;
  if (result.next != Next::kGoOn) return;
  connection_.NoteReceived(result.bytes);
  pinged_.reset();
  Feed(absl::string_view(scratch.data(), result.bytes));
  if (result.bytes == most) step_ = std::min(2 * step_, scratch.size());
  if (connection_.stream().HasPending()) connection_.Wake();
}

// Reads the frame headers itself, because nghttp2 has no callback for frames that it ignores: unknown types, and DATA
// of streams that have ended.
bool Http2Session::ChargeFrames(absl::string_view bytes) {
  double points = 0;
  while (!bytes.empty()) {
    const size_t skipped = std::min(payload_left_, bytes.size());
    payload_left_ -= skipped;
    bytes.remove_prefix(skipped);
    if (bytes.empty()) break;
    frame_head_[frame_head_bytes_++] = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (frame_head_bytes_ < frame_head_.size()) continue;
    frame_head_bytes_ = 0;
    payload_left_ = size_t{frame_head_[0]} << 16 | size_t{frame_head_[1]} << 8 | frame_head_[2];
    points += PointsOf(frame_head_[3], frame_head_[4], payload_left_);
  }
  return points == 0 || Spend(points, "too many frames that carry nothing");
}

void Http2Session::Feed(absl::string_view bytes) {
  if (!ChargeFrames(bytes)) return;
  const int64_t requests_before = requests_;
  const ssize_t taken =
      nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (bytes.size() < static_cast<size_t>(requests_ - requests_before) * kSmallRequest) step_ = kFewBytes;
  // If the client does not read, nghttp2's replies to the client's frames accumulate in the queue.
  if (nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueuedFrames) {
    Fail(CloseReason::kAbuse, NGHTTP2_ENHANCE_YOUR_CALM, "the client does not read");
  }
  if (taken >= 0 || failed_.has_value()) return;
  const bool is_flood = taken == NGHTTP2_ERR_FLOODED;
  Fail(is_flood ? CloseReason::kAbuse : CloseReason::kProtocol,
       is_flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR, nghttp2_strerror(static_cast<int>(taken)));
}

void Http2Session::Fail(CloseReason reason, uint32_t code, const char* why) {
  if (!failed_.has_value()) failed_ = Failure{reason, code, why};
}

bool Http2Session::Spend(double points, const char* why) {
  if (connection_.Spend(points)) return true;
  Fail(CloseReason::kAbuse, NGHTTP2_ENHANCE_YOUR_CALM, why);
  return false;
}

void Http2Session::Continue() {
  if (connection_.is_closed()) return;
  if (!failed_.has_value()) DeliverMail();
  if (!Flush()) return;
  if (failed_.has_value()) return SayFailure();
  const bool reads = nghttp2_session_want_read(session_.get()) != 0;
  if (!reads && nghttp2_session_want_write(session_.get()) == 0 && out_.empty()) {
    return connection_.Linger(EndReason());
  }
  connection_.Await(true, waits_for_writable_);
}

CloseReason Http2Session::EndReason() const {
  if (is_broken_) return CloseReason::kProtocol;
  return leaving_ == Leaving::kNo ? CloseReason::kClient : leaving_reason_;
}

void Http2Session::DeliverMail() {
  for (auto& [stream, mail] : mailbox_.Empty()) {
    if (!streams_.contains(stream->id)) continue;
    if (mail.body_awaited.has_value()) {
      if (*mail.body_awaited && !stream->body_since.has_value()) {
        stream->body_since = Now();
        stream->connection_bytes = body_bytes_;
      } else if (!*mail.body_awaited) {
        stream->body_since.reset();
      }
    }
    if (mail.consumed > 0) nghttp2_session_consume_stream(session_.get(), stream->id, mail.consumed);
    for (HttpStream::Part& part : mail.parts) Queue(*stream, std::move(part));
    if (mail.reset.has_value()) Reset(*stream, *mail.reset);
  }
}

void Http2Session::OnTick() {
  const std::chrono::nanoseconds head_time = Nanoseconds(options_.request_timeout);
  if (!has_settings_ && Now() - connection_.opened() > head_time) {
    return connection_.CutOff(CloseReason::kHeadTimeout, "no SETTINGS arrived in time");
  }
  if (head_since_.has_value() && Now() - *head_since_ > head_time) {
    return connection_.CutOff(CloseReason::kHeadTimeout, "the headers did not arrive in time");
  }
  const auto silence = Now() - connection_.last_received();
  if (pinged_.has_value() && Now() - *pinged_ > Nanoseconds(options_.keepalive_timeout)) {
    return connection_.Close(CloseReason::kKeepalive);
  }
  if (!pinged_.has_value() && silence > Nanoseconds(options_.keepalive_time)) {
    pinged_ = Now();
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kKeepalivePing);
  }
  if (leaving_ == Leaving::kAnnounced && Now() - announced_ > kLeavingTime) SubmitFinal();
  if (leaves_after_first_ && (requests_ > 0 && streams_.empty())) Announce();
  if (connection_.is_closed()) return;
  if (out_.empty()) out_.shrink_to_fit();  // a large answer leaves a capacity of 128 KiB
  if (Now() - rates_checked_ > kRateCheck) CheckRates();
  Continue();
}

void Http2Session::CheckRates() {
  rates_checked_ = Now();
  if (blocked_since_.has_value() && IsSlower(static_cast<int64_t>(out_total_ - blocked_at_), Now() - *blocked_since_,
                                             options_.body_timeout, options_.least_rate)) {
    return Fail(CloseReason::kSlowClient, NGHTTP2_CANCEL, "the client does not read");
  }
  const bool has_window = nghttp2_session_get_remote_window_size(session_.get()) > 0;
  std::vector<std::shared_ptr<Http2Stream>> late_bodies;
  for (const auto& [id, stream] : streams_) {
    if (stream->answered_early.has_value() && Now() - *stream->answered_early > kRateCheck) {
      stream->answered_early.reset();
      nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
    }
    // A client counts as slow only if it grants no flow control window. On a slow line with many responses, each
    // response makes little progress although the client reads all the time. Many bodies also share a slow line, so the
    // rate of a body counts the body bytes of all streams.
    const bool withholds = !has_window || nghttp2_session_get_stream_remote_window_size(session_.get(), id) <= 0;
    if (withholds && !stream->parts.empty() && !stream->is_reset_here &&
        IsSlower(stream->taken, Now() - *stream->taking_since, options_.body_timeout, options_.least_rate)) {
      Reset(*stream, NGHTTP2_CANCEL);
      ReportCutOff(StreamCutOff::kUnread);
    }
    if (!stream->has_remote_ended && stream->body_since.has_value() &&
        IsSlower(body_bytes_ - stream->connection_bytes, Now() - *stream->body_since, options_.body_timeout,
                 options_.least_rate)) {
      late_bodies.push_back(stream);
    }
  }
  for (const auto& stream : late_bodies) {
    stream->body_since.reset();
    if (stream->handler == nullptr) continue;
    ReportCutOff(StreamCutOff::kSlowBody);
    stream->handler->OnTooSlow();
  }
}

void Http2Session::ReportCutOff(StreamCutOff reason) const {
  if (options_.observer != nullptr) options_.observer->OnStreamCutOff(reason, connection_.peer()->address);
}

void Http2Session::StartLeaving(CloseReason reason) {
  leaving_reason_ = reason;
  if (leaving_ == Leaving::kAnnounced && reason == CloseReason::kCertificate) {  // see Announce
    SubmitFinal();
    return Continue();
  }
  if (leaving_ != Leaving::kNo) return;
  // The first request of a client that connects during the shutdown is answered before the client is asked to leave;
  // otherwise the client would reconnect endlessly.
  leaves_after_first_ = reason == CloseReason::kShutdown && !has_settings_;
  if (!leaves_after_first_) Announce();
}

void Http2Session::Announce() {
  const CloseReason reason = leaving_reason_;
  leaves_after_first_ = false;
  announced_ = Now();
  // A client whose certificate is no longer valid must not begin further requests, not even those already sent.
  if (reason == CloseReason::kCertificate || (streams_.empty() && reason != CloseReason::kShutdown)) {
    SubmitFinal();
  } else {
    leaving_ = Leaving::kAnnounced;
    nghttp2_submit_shutdown_notice(session_.get());
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kLeavingPing);
  }
  Continue();
}

void Http2Session::SubmitFinal() {
  if (leaving_ == Leaving::kFinal) return;
  leaving_ = Leaving::kFinal;
  final_stream_ = nghttp2_session_get_last_proc_stream_id(session_.get());
  const char* const why = CloseReasonName(leaving_reason_);
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, final_stream_, NGHTTP2_NO_ERROR,
                        reinterpret_cast<const uint8_t*>(why), std::strlen(why));
}

void Http2Session::End() {
  leaving_reason_ = CloseReason::kShutdown;
  SubmitFinal();
  Continue();
}

bool Http2Session::CutOff(CloseReason reason, const char* why) {
  Fail(reason, NGHTTP2_CANCEL, why);
  Continue();
  return true;
}

void Http2Session::OnClosed() {
  StreamMap streams;
  streams.swap(streams_);
  double points = 0;  // sum of the streams' points; open streams are charged as if the client had reset them
  for (const auto& [id, stream] : streams) {
    if (!stream->has_local_ended && !stream->is_reset_here) points += stream->points;
    stream->request->hung_up->store(true, std::memory_order_release);
    const std::shared_ptr<HttpStreamHandler> handler = std::move(stream->handler);
    stream->Close();
    if (handler != nullptr) handler->OnClosed(stream->has_local_ended);
  }
  if (points > 0) (void)connection_.Spend(points);
  head_of_.reset();
  (void)mailbox_.Empty();  // drops streams that would keep the connection alive
  common_.unsent.fetch_sub(static_cast<int64_t>(out_.size() - out_sent_), std::memory_order_relaxed);
  std::string().swap(out_);  // frees the memory, which clear would keep while the connection lingers
  out_sent_ = 0;
  blocked_since_.reset();
  held_.clear();
  held_by_frame_.clear();
}

std::optional<EventLoop::Time> Http2Session::UnsentSince() const {
  std::optional<Time> since = blocked_since_;
  for (const auto& [id, stream] : streams_) {
    if (!stream->parts.empty() && (!since.has_value() || *stream->taking_since < *since)) since = stream->taking_since;
  }
  return since;
}

HttpConnectionStatus Http2Session::Describe() const {
  HttpConnectionStatus status = {.peer = "", .protocol = "h2", .age = {}, .requests = requests_};
  status.streams = static_cast<int64_t>(streams_.size());
  status.unsent_bytes = static_cast<int64_t>(out_.size() - out_sent_);
  for (const auto& [id, stream] : streams_) status.unsent_bytes += static_cast<int64_t>(stream->unsent_bytes());
  return status;
}

void Http2Session::OnPing(const nghttp2_ping& ping, bool is_answer) {
  if (is_answer) {
    if (std::memcmp(ping.opaque_data, kLeavingPing, sizeof(kLeavingPing)) == 0) SubmitFinal();
    if (std::memcmp(ping.opaque_data, kBandwidthPing, sizeof(kBandwidthPing)) != 0) return;
    const std::optional<int32_t> grown = window_.OnAnswer();
    if (!grown.has_value()) return;
    const nghttp2_settings_entry setting = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(*grown)};
    nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, &setting, 1);
    nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, *grown);
    return;
  }
  // Two early PINGs are tolerated, as in gRPC; each response that is sent resets the count of early PINGs.
  constexpr int kForgiven = 2;
  const bool is_early =
      last_ping_ != Time::min() && Now() - last_ping_ < Nanoseconds(options_.min_ping_interval) * 9 / 10;
  last_ping_ = Now();
  if (is_early && ++ping_strikes_ > kForgiven) {
    Fail(CloseReason::kTooManyPings, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
  }
}

void Http2Session::OnData(int32_t id, absl::string_view bytes) {
  nghttp2_session_consume_connection(session_.get(), bytes.size());
  if (window_.OnData(static_cast<int64_t>(bytes.size()))) {
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kBandwidthPing);
  }
  const std::shared_ptr<Http2Stream> stream = Find(id);
  body_bytes_ += static_cast<int64_t>(bytes.size());
  const bool is_read = stream != nullptr && stream->handler != nullptr;
  const size_t consumed = is_read ? stream->Deliver(bytes) : bytes.size();
  if (consumed > 0) nghttp2_session_consume_stream(session_.get(), id, consumed);
}

std::unique_ptr<HttpProtocol> MakeHttp2(HttpConnection& connection, std::string first) {
  return std::make_unique<Http2Session>(connection, std::move(first));
}

}  // namespace vitrine
