// SPDX-License-Identifier: Apache-2.0
// Writes the frames of an HTTP/2 connection: queues the parts of responses, and passes frames on to the kernel.
#include <string>
#include <utility>

#include "common/http/protocol/http2_session.h"

namespace vitrine {
namespace {

using Next = ByteStream::Result::Next;

// Maximum number of bytes in frames that the kernel has not accepted, and of bytes written per call of Flush.
constexpr size_t kOutBytes = size_t{64} << 10;
constexpr size_t kTurnBytes = size_t{256} << 10;

void AppendNumber(std::string& to, uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to.push_back(static_cast<char>(value >> (8 * i)));
}

// Returns a GOAWAY frame, for a session that can no longer be used.
std::string GoawayFrame(int32_t last_stream, uint32_t code, absl::string_view why) {
  std::string frame;
  AppendNumber(frame, static_cast<uint32_t>(8 + why.size()), 3);
  AppendNumber(frame, NGHTTP2_GOAWAY, 1);
  AppendNumber(frame, 0, 1);
  AppendNumber(frame, 0, 4);
  AppendNumber(frame, static_cast<uint32_t>(last_stream), 4);
  AppendNumber(frame, code, 4);
  frame.append(why.data(), why.size());
  return frame;
}

}  // namespace

void Http2Session::Queue(Http2Stream& stream, HttpStream::Part part) {
  if (!std::exchange(stream.has_sent_head, true)) {
    const bool is_whole = part.is_last && part.bytes.empty() && part.trailers.empty();
    nghttp2_data_provider provider = {.source = {.ptr = &stream}, .read_callback = nullptr};
    Submit(stream, part, is_whole ? nullptr : &provider);
    if (is_whole) {
      if (part.held != nullptr) held_by_frame_.push_back(std::move(part.held));
      return;
    }
  } else if (stream.is_deferred) {
    stream.is_deferred = false;
    nghttp2_session_resume_data(session_.get(), stream.id);
  }
  if (stream.parts.empty()) {
    stream.taking_since = Now();
    stream.taken = 0;
  }
  part.head.clear();
  stream.parts.push_back(std::move(part));
}

void Http2Session::Reset(Http2Stream& stream, uint32_t code) {
  // If the end of the response is sent or queued, no reset is needed here, because OnSent resets the stream with
  // NO_ERROR.
  const bool is_ending = !stream.parts.empty() && stream.parts.back().is_last;
  if (code == NGHTTP2_NO_ERROR && (is_ending || stream.has_local_ended)) return;
  stream.is_reset_here = true;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id, code);
}

void Http2Session::Fill() {
  while (out_.size() - out_sent_ < kOutBytes) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size < 0) Fail(CloseReason::kProtocol, NGHTTP2_INTERNAL_ERROR, nghttp2_strerror(static_cast<int>(size)));
    if (size > 0) {
      out_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
      out_total_ += static_cast<uint64_t>(size);
      common_.unsent.fetch_add(size, std::memory_order_relaxed);
    }
    for (std::shared_ptr<void>& each : held_by_frame_) held_.emplace_back(out_total_, std::move(each));
    held_by_frame_.clear();
    if (size <= 0) return;
  }
}

bool Http2Session::Flush() {
  size_t written = 0;
  while (written < kTurnBytes) {
    Fill();
    if (out_sent_ == out_.size()) break;
    const ByteStream::Result result = connection_.stream().Write({}, absl::string_view(out_).substr(out_sent_));
    if (result.next == Next::kGone) {
      connection_.Close(failed_.has_value() ? failed_->reason : CloseReason::kClient);
      return false;
    }
    if (result.next != Next::kGoOn) {
      if (!blocked_since_.has_value()) {
        blocked_since_ = Now();
        blocked_at_ = out_total_;
      }
      waits_for_writable_ = result.next == Next::kAwaitWritable;
      return true;
    }
    out_sent_ += result.bytes;
    common_.unsent.fetch_sub(static_cast<int64_t>(result.bytes), std::memory_order_relaxed);
    written += result.bytes;
    ReleaseWritten();
  }
  ReleaseWritten();
  const bool is_empty = out_sent_ == out_.size();
  if (is_empty) {
    out_.clear();
    out_sent_ = 0;
    blocked_since_.reset();
  }
  // bytes that remain are written after the events of other connections
  waits_for_writable_ = !is_empty || written >= kTurnBytes;
  return true;
}

void Http2Session::ReleaseWritten() {
  const uint64_t written = out_total_ - (out_.size() - out_sent_);
  while (!held_.empty() && held_.front().first <= written) held_.pop_front();
  if (out_sent_ >= kOutBytes) {
    out_.erase(0, out_sent_);
    out_sent_ = 0;
  }
}

// Sends nghttp2's frames first, because a client expects SETTINGS before all other frames.
void Http2Session::SayFailure() {
  const std::string last = out_.substr(out_sent_) + GoawayFrame(nghttp2_session_get_last_proc_stream_id(session_.get()),
                                                                failed_->code, failed_->why);
  (void)connection_.stream().Write({}, last);
  connection_.Linger(failed_->reason);
}

}  // namespace vitrine
