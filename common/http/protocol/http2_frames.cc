// SPDX-License-Identifier: Apache-2.0
// Callbacks of nghttp2 for reading and writing frames.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/failed_allocation.h"
#include "common/http/body.h"
#include "common/http/protocol/http2_exchange.h"
#include "common/http/protocol/http2_session.h"
#include "common/http/request_id.h"

namespace vitrine {
namespace {

// A request that ends unanswered costs 1 point, plus 1 point for every kHeadersPerPoint headers, plus 1 point for every
// kHeadBytesPerPoint bytes of headers.
constexpr size_t kHeadersPerPoint = 16;
constexpr size_t kHeadBytesPerPoint = 1024;
constexpr double kRefusedPoints = 4;
// Size of decoded headers that no legitimate client reaches.
constexpr size_t kAbsurdHeadBytes = size_t{1} << 20;
// Bytes that HPACK counts for each header in addition to its name and value (RFC 7541, 4.1).
constexpr size_t kHeaderOverhead = 32;
// Maximum number of a connection's live streams, as a multiple of max_concurrent_streams. It is more than 1 because
// work on reset streams needs a moment to end.
constexpr int64_t kHeldStreams = 2;
constexpr size_t kMostTypeBytes = 256;  // maximum size of the content-type of a refused request

bool IsGrpc(const HttpRequest& request) {
  return absl::StartsWith(request.Header("content-type").value_or(""), "application/grpc");
}

// Bytes that a request takes in memory. With HPACK, a client can send headers of many bytes in a few bytes.
int64_t BytesOf(const HttpHead& head) {
  constexpr size_t kObjects = 2048;  // approximate size of the stream's and the call's objects
  size_t bytes = kObjects + head.path.size() + head.query.size();
  for (const auto& [name, value] : head.headers) bytes += sizeof(HttpHeaders::value_type) + name.size() + value.size();
  return static_cast<int64_t>(bytes);
}

std::vector<nghttp2_nv> ToNameValues(const HttpHeaders& headers) {
  std::vector<nghttp2_nv> all;
  all.reserve(headers.size());
  for (const auto& [name, value] : headers) {
    all.push_back({.name = reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                   .value = reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())),
                   .namelen = name.size(),
                   .valuelen = value.size(),
                   .flags = NGHTTP2_NV_FLAG_NONE});
  }
  return all;
}

// Returns `memory`. If the allocation of `size` bytes failed, ends the process as a failed `new` does.
void* OrFail(void* memory, size_t size) {
  if (memory == nullptr && size > 0) FailAllocation();
  return memory;
}

absl::string_view View(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

// Gives nghttp2's callbacks, which are free functions, access to private members of the session.
struct Http2Frames {
  static Http2Session& Of(void* session) { return *static_cast<Http2Session*>(session); }
  static int GoOn(const Http2Session& session) {
    return session.failed_.has_value() ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }

  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* self) {
    Http2Session& session = Of(self);
    if (head->type != NGHTTP2_CONTINUATION) {
      session.head_since_.reset();  // there is no callback for the end of malformed headers
      session.head_of_.reset();
    }
    if (head->type == NGHTTP2_HEADERS) session.ChargeUnwantedHead(*head);
    // OnStreamClosed, which charges a reset of an open stream, is not called for other streams.
    if (head->type == NGHTTP2_RST_STREAM && session.Find(head->stream_id) == nullptr) {
      session.Spend(1, "too many resets of closed streams");
    }
    return GoOn(session);
  }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    Http2Session& session = Of(self);
    session.head_since_ = session.Now();
    session.head_bytes_ = 0;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST && session.BeginRequest(frame->hd.stream_id)) {
      session.head_of_ = session.Find(frame->hd.stream_id);
    }
    return GoOn(session);
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
    Http2Session& session = Of(self);
    session.head_bytes_ += name_size + value_size + kHeaderOverhead;
    if (session.head_bytes_ > kAbsurdHeadBytes) {
      session.Fail(CloseReason::kAbuse, NGHTTP2_ENHANCE_YOUR_CALM, "headers are too large");
    }
    Http2Stream* const stream = session.head_of_.get();
    if (stream != nullptr) {
      stream->points +=
          1.0 / kHeadersPerPoint + static_cast<double>(name_size + value_size + kHeaderOverhead) / kHeadBytesPerPoint;
    }
    if (stream != nullptr && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      AddHeader(*stream, View(name, name_size), View(value, value_size), session);
    }
    return GoOn(session);
  }

  static void AddHeader(Http2Stream& stream, absl::string_view name, absl::string_view value,
                        const Http2Session& session) {
    HttpHead& head = stream.request->head;
    // Keeps a content-type, which identifies gRPC, even if the headers are too large.
    if (session.head_bytes_ > static_cast<size_t>(session.options_.max_head_bytes)) {
      stream.is_head_too_large = true;
      if (name != "content-type" || value.size() > kMostTypeBytes || std::exchange(stream.has_late_type, true)) return;
    }
    if (name == ":method") {
      head.method = std::string(value);
    } else if (name == ":path") {
      head.path = std::string(value);
    } else if (name == ":authority") {
      head.headers.emplace_back("host", std::string(value));
    } else if (!name.empty() && name[0] != ':') {
      head.headers.emplace_back(std::string(name), std::string(value));
    }
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    Http2Session& session = Of(self);
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS: {
        session.head_since_.reset();
        const std::shared_ptr<Http2Stream> stream = session.Find(frame->hd.stream_id);
        session.head_of_.reset();
        if (stream == nullptr) break;
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) session.Dispatch(*stream);
        if (ends) session.EndBody(*stream);
        break;
      }
      case NGHTTP2_DATA: {
        const bool is_padding = frame->hd.length > 0 && frame->data.padlen >= frame->hd.length;
        if (is_padding && !ends) session.Spend(1, "too many frames that carry nothing");
        const std::shared_ptr<Http2Stream> stream = session.Find(frame->hd.stream_id);
        if (stream != nullptr && ends) session.EndBody(*stream);
        break;
      }
      case NGHTTP2_SETTINGS:
        session.has_settings_ = true;
        break;
      case NGHTTP2_PING:
        session.OnPing(frame->ping, (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0);
        break;
      default:
        break;
    }
    return GoOn(session);
  }

  static int OnDataChunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* self) {
    Http2Session& session = Of(self);
    session.OnData(id, View(bytes, size));
    return GoOn(session);
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t, void* self) {
    Of(self).OnStreamClosed(id);
    return 0;
  }

  static int OnSent(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    Of(self).OnSent(*frame);
    return 0;
  }

  static ssize_t ReadParts(nghttp2_session*, int32_t, uint8_t* to, size_t size, uint32_t* flags,
                           nghttp2_data_source* source, void* self) {
    return Of(self).ReadParts(*static_cast<Http2Stream*>(source->ptr), to, size, flags);
  }
};

nghttp2_mem* Nghttp2Memory() {
  static nghttp2_mem memory = {
      .mem_user_data = nullptr,
      .malloc = [](size_t size, void*) { return OrFail(std::malloc(size), size); },
      .free = [](void* freed, void*) { std::free(freed); },
      .calloc = [](size_t count, size_t size, void*) { return OrFail(std::calloc(count, size), size); },
      .realloc = [](void* old, size_t size, void*) { return OrFail(std::realloc(old, size), size); }};
  return &memory;
}

nghttp2_session* NewNghttp2Session(Http2Session& session, const HttpServerOptions& options) {
  static nghttp2_session_callbacks* const kCallbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    nghttp2_session_callbacks_new(&made);
    nghttp2_session_callbacks_set_on_begin_frame_callback(made, Http2Frames::OnBeginFrame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, Http2Frames::OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(made, Http2Frames::OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, Http2Frames::OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, Http2Frames::OnDataChunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, Http2Frames::OnStreamClose);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, Http2Frames::OnSent);
    return made;
  }();
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) != 0) FailAllocation();
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  // Disables nghttp2's limit on resets, which would end connections of busy proxies. HttpAbuseLimits counts resets
  // instead.
  nghttp2_option_set_stream_reset_rate_limit(option, UINT64_MAX / 2, UINT64_MAX / 2);
  nghttp2_option_set_max_continuations(option, 8 + static_cast<size_t>(options.max_head_bytes) / 16384);
  nghttp2_session* made = nullptr;
  nghttp2_session_server_new3(&made, kCallbacks, &session, option, Nghttp2Memory());
  nghttp2_option_del(option);
  return made;
}

std::shared_ptr<Http2Stream> Http2Session::Find(int32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

bool Http2Session::BeginRequest(int32_t id) {
  // Refuses a request that arrived after the final GOAWAY was queued. The GOAWAY tells the client that the request is
  // unprocessed.
  if (leaving_ == Leaving::kFinal && id > final_stream_) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    return true;
  }
  if (live_->load(std::memory_order_relaxed) >= kHeldStreams * options_.max_concurrent_streams) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    return Spend(kRefusedPoints, "too many concurrent streams");
  }
  ++requests_;
  streams_.emplace(id,
                   std::make_shared<Http2Stream>(id, connection_.shared_from_this(), mailbox_, live_, common_.unsent));
  return true;
}

// Charges points for headers that nghttp2 rejects or ignores without a callback: headers of a request beyond the limit
// of streams or after the final GOAWAY, and headers of a stream that has ended.
void Http2Session::ChargeUnwantedHead(const nghttp2_frame_hd& head) {
  const bool begins = head.stream_id > nghttp2_session_get_last_proc_stream_id(session_.get());
  const bool has_room = streams_.size() < static_cast<size_t>(options_.max_concurrent_streams);
  const bool is_wanted = begins ? has_room && leaving_ != Leaving::kFinal : streams_.contains(head.stream_id);
  if (is_wanted) return;
  Spend(kRefusedPoints + static_cast<double>(head.length) / kHeadBytesPerPoint, "too many concurrent streams");
}

void Http2Session::Dispatch(Http2Stream& stream) {
  const std::shared_ptr<Http2Stream> keep = stream.shared_from_this();
  HttpRequest& request = *stream.request;
  request.peer = connection_.peer();
  request.head.major_version = 2;
  request.answer_headers = RequestIdHeader(request.head);
  // Interleaves this response with other responses, frame by frame. Without this setting, nghttp2 would send the first
  // response completely before the others.
  const nghttp2_extpri in_turn = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
  nghttp2_session_change_extpri_stream_priority(session_.get(), stream.id, &in_turn, 1);
  if (stream.is_head_too_large) {
    Spend(std::exchange(stream.points, 0), "headers are too large");
    return Refuse(stream, 431, absl::StrCat("the request's headers exceed ", options_.max_head_bytes, " bytes"));
  }
  stream.head_share = BudgetShare(common_.received);
  // Headers may take a quarter more than the budget, so that small requests are served while large ones fill it.
  if (!stream.head_share.Add(BytesOf(request.head), common_.received->limit() / 4)) {
    return Refuse(stream, 503, std::string(NoRoomError().message()));
  }
  const std::string target = std::exchange(request.head.path, std::string());
  if (const absl::Status read = ReadTarget(target, request.head); !read.ok()) {
    return stream.Send(ResponsePart(
        {.code = 400, .type = kPlainText, .body = absl::StrCat(std::string(read.message()), "\n")}, request));
  }
  if (options_.read_only && request.method() != "GET" && request.method() != "HEAD") {
    return stream.Send(ResponsePart({.code = 405,
                                     .type = kPlainText,
                                     .body = "only GET and HEAD are served here\n",
                                     .headers = {{"allow", "GET, HEAD"}}},
                                    request));
  }
  HttpHandling next = common_.handler(stream.request);
  stream.head_share.ReduceTo(BytesOf(request.head));  // the handler may have dropped headers
  std::shared_ptr<HttpStreamHandler> handler =
      next.open != nullptr ? next.open(keep) : BeginExchange(std::move(next), stream.request, keep, common_);
  stream.handler = std::move(handler);
}

void Http2Session::Refuse(Http2Stream& stream, int code, const std::string& why) {
  HttpRequest& request = *stream.request;
  // Keeps only a short content-type. The other headers would stay in memory until the client has read the answer.
  std::string type = request.Header("content-type").value_or("");
  if (type.size() > kMostTypeBytes) type.clear();
  request.head.headers = {{"content-type", std::move(type)}};
  if (!IsGrpc(request)) {
    HttpResponse response = {.code = code, .type = kPlainText, .body = why + "\n"};
    if (code == 503) response.headers.emplace_back("retry-after", "1");
    return stream.Send(ResponsePart(std::move(response), request));
  }
  // Sends the reason as grpc-message, because a gRPC client would ignore it in the body of an HTTP response.
  HttpHeaders head = {{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-message", why}};
  head.emplace_back("grpc-status", "8");  // RESOURCE_EXHAUSTED
  head.insert(head.end(), request.answer_headers.begin(), request.answer_headers.end());
  stream.Send({.head = std::move(head), .is_last = true});
}

void Http2Session::EndBody(Http2Stream& stream) {
  if (std::exchange(stream.has_remote_ended, true)) return;
  stream.body_since.reset();
  const std::shared_ptr<HttpStreamHandler> handler = stream.handler;
  if (handler != nullptr) handler->OnEnd();
}

void Http2Session::OnStreamClosed(int32_t id) {
  const std::shared_ptr<Http2Stream> stream = Find(id);
  if (stream == nullptr) return;
  streams_.erase(id);
  if (!stream->has_local_ended) stream->request->hung_up->store(true, std::memory_order_release);
  if (!stream->has_local_ended && !stream->is_reset_here) Spend(stream->points, "too many requests are reset");
  const std::shared_ptr<HttpStreamHandler> handler = std::move(stream->handler);
  stream->Close();
  if (handler != nullptr) handler->OnClosed(stream->has_local_ended);
  connection_.NoteRequestDone();
}

void Http2Session::OnSent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) is_broken_ = is_broken_ || frame.goaway.error_code != NGHTTP2_NO_ERROR;
  const bool is_answer = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (!is_answer && frame.hd.type != NGHTTP2_RST_STREAM) return;
  const std::shared_ptr<Http2Stream> stream = Find(frame.hd.stream_id);
  if (frame.hd.type == NGHTTP2_RST_STREAM) {
    // Instead of sending resets, a client can violate the protocol so that the server sends them (MadeYouReset,
    // CVE-2025-8671). So a reset that the server sends for a stream that is already closed costs a point.
    if (stream == nullptr) Spend(1, "too many streams end with a protocol violation");
    return;
  }
  ping_strikes_ = 0;
  last_ping_ = Time::min();
  if (stream == nullptr || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  stream->has_local_ended = true;
  if (stream->has_remote_ended) return;
  stream->is_reset_here = true;
  // The response is complete but the request is not, so the stream is reset with NO_ERROR. gRPC clients read the status
  // despite the reset. Other clients (curl 7.88) would discard the response, so the reset is delayed for them.
  if (!IsGrpc(*stream->request)) {
    stream->answered_early = Now();
    return;
  }
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
}

void Http2Session::Submit(Http2Stream& stream, const HttpStream::Part& part, nghttp2_data_provider* provider) {
  const std::vector<nghttp2_nv> head = ToNameValues(part.head);
  if (provider != nullptr) provider->read_callback = Http2Frames::ReadParts;
  nghttp2_submit_response(session_.get(), stream.id, head.data(), head.size(), provider);
}

ssize_t Http2Session::ReadParts(Http2Stream& stream, uint8_t* to, size_t size, uint32_t* flags) {
  size_t filled = 0;
  while (filled < size && !stream.parts.empty()) {
    HttpStream::Part& part = stream.parts.front();
    const size_t taken = std::min(size - filled, part.bytes.size() - stream.sent_of_first);
    std::copy_n(part.bytes.data() + stream.sent_of_first, taken, to + filled);
    filled += taken;
    stream.sent_of_first += taken;
    stream.taken += static_cast<int64_t>(taken);
    stream.NoteTaken(taken);
    if (stream.sent_of_first < part.bytes.size()) break;
    if (part.held != nullptr) held_by_frame_.push_back(std::move(part.held));
    if (part.is_last) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!part.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const std::vector<nghttp2_nv> trailers = ToNameValues(part.trailers);
        nghttp2_submit_trailer(session_.get(), stream.id, trailers.data(), trailers.size());
      }
    }
    const bool is_last = part.is_last;
    stream.parts.pop_front();
    stream.sent_of_first = 0;
    if (is_last) return static_cast<ssize_t>(filled);
  }
  if (filled > 0) return static_cast<ssize_t>(filled);
  stream.is_deferred = true;
  return NGHTTP2_ERR_DEFERRED;
}

}  // namespace vitrine
