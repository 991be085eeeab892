// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_HTTP2_CLIENT_H_
#define VITRINE_TESTS_COMMON_HTTP2_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/file/descriptor.h"

namespace vitrine {

// An HTTP/2 client with one connection. It runs an nghttp2 client session with a blocking socket on the test's thread.
class Http2Client {
 public:
  struct Response {
    std::map<std::string, std::string> headers = {};  // headers and trailers of the response
    std::string body = {};
    bool is_ended = false;
    std::optional<uint32_t> reset = {};  // error code of the server's RST_STREAM
    bool is_closed = false;
  };
  struct Goaway {
    int32_t last_stream;
    uint32_t code;
    std::string why;
  };

  // Connects to `address`, which is 127.0.0.1:PORT or unix:///PATH. First sends the bytes of `before`, then the HTTP/2
  // preface. `window` is the initial flow-control window of each stream. `from` is the client's IPv4 address; empty:
  // the system chooses it.
  explicit Http2Client(const std::string& address, const std::string& before = "", uint32_t window = 1 << 20,
                       const std::string& from = "") {
    Connect(address, from);
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 1 << 30);
    SendRaw(before);
    Flush();
  }
  ~Http2Client() { nghttp2_session_del(session_); }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  // Starts a request and returns its stream id. Sends `body` as the flow-control windows allow. If `ends` is false, the
  // body stays incomplete.
  int32_t Begin(const std::string& path, const std::string& body = "", bool ends = true,
                const std::vector<std::pair<std::string, std::string>>& more = {}) {
    std::vector<std::pair<std::string, std::string>> headers = {
        {":method", body.empty() && ends ? "GET" : "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "x"}};
    headers.insert(headers.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> pairs;
    for (auto& [name, value] : headers) {
      pairs.push_back({reinterpret_cast<uint8_t*>(name.data()), reinterpret_cast<uint8_t*>(value.data()), name.size(),
                       value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    auto sent = std::make_unique<Body>(Body{body, 0, ends});
    nghttp2_data_provider provider = {.source = {.ptr = sent.get()}, .read_callback = ReadBody};
    const bool has_body = !body.empty() || !ends;
    const int32_t id =
        nghttp2_submit_request(session_, nullptr, pairs.data(), pairs.size(), has_body ? &provider : nullptr, nullptr);
    bodies_[id] = std::move(sent);
    Flush();
    return id;
  }

  void Reset(int32_t id, uint32_t code = NGHTTP2_CANCEL) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
    Flush();
  }
  void Ping() {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    Flush();
  }
  void Settings() {
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    Flush();
  }
  // Disconnects with a TCP reset.
  void Break() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    socket_ = FileDescriptor();
  }
  void SendRaw(const std::string& bytes) {
    if (!bytes.empty()) (void)!send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // Reads and writes until `done` returns true, the server disconnects, or ten seconds have passed. Returns the last
  // result of `done`.
  bool Until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && !is_gone && std::chrono::steady_clock::now() < end) Step(50);
    return done();
  }
  // Reads and writes until the response has ended or its stream is closed. Also stops if the server disconnects or
  // after ten seconds.
  const Response& Await(int32_t id) {
    Until([&] { return responses[id].is_ended || responses[id].is_closed; });
    return responses[id];
  }
  const Response& Get(const std::string& path) { return Await(Begin(path)); }
  // Completes the body of a request that Begin left incomplete.
  void Finish(int32_t id) {
    bodies_.at(id)->ends = true;
    nghttp2_session_resume_data(session_, id);
    Flush();
  }
  // Returns the window in bytes that the server grants to a new stream.
  uint32_t stream_window() const {
    return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
  }
  bool AwaitEnd() {
    return Until([&] { return is_gone; });
  }

  std::map<int32_t, Response> responses;
  std::vector<Goaway> goaways;
  int pings = 0, ping_answers = 0;
  std::vector<int32_t> data_order;  // stream id of each received DATA frame
  bool is_gone = false;
  bool holds_requests = false;  // true: nothing is sent
  bool holds_answers = false;   // true: automatic replies to the server's frames are sent only with other data

 private:
  struct Body {
    std::string bytes;
    size_t sent;
    bool ends;
  };

  void Connect(const std::string& address, const std::string& from) {
    sockaddr_storage to = {};
    socklen_t size = sizeof(sockaddr_in);
    if (address.starts_with("unix://")) {
      auto& local = reinterpret_cast<sockaddr_un&>(to);
      local.sun_family = AF_UNIX;
      address.substr(7).copy(local.sun_path, sizeof(local.sun_path) - 1);
      size = sizeof(sockaddr_un);
    } else {
      auto& ip = reinterpret_cast<sockaddr_in&>(to);
      ip.sin_family = AF_INET;
      ip.sin_port = htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
      ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    socket_ = FileDescriptor(socket(to.ss_family, SOCK_STREAM, 0));
    const int at_once = 1;  // without TCP_NODELAY, a request may wait 40 ms for the acknowledgement of earlier bytes
    (void)setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    if (!from.empty()) {
      sockaddr_in own = {};
      own.sin_family = AF_INET;
      is_gone = inet_pton(AF_INET, from.c_str(), &own.sin_addr) != 1 ||
                bind(socket_.get(), reinterpret_cast<sockaddr*>(&own), sizeof(own)) != 0;
    }
    is_gone = is_gone || connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), size) != 0;
  }

  void Flush() {
    if (holds_requests) return;
    std::string all;
    const uint8_t* bytes = nullptr;
    for (ssize_t size = nghttp2_session_mem_send(session_, &bytes); size > 0;
         size = nghttp2_session_mem_send(session_, &bytes)) {
      all.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    for (size_t sent = 0; sent < all.size();) {
      const ssize_t some = send(socket_.get(), all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) return;
      sent += static_cast<size_t>(some);
    }
  }

  void Step(int milliseconds) {
    pollfd wait = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, milliseconds) <= 0) return;
    uint8_t bytes[65536];
    const ssize_t got = recv(socket_.get(), bytes, sizeof(bytes), 0);
    if (got <= 0 || nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(got)) < 0) {
      is_gone = true;
      return;
    }
    if (!holds_answers) Flush();
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
    static_cast<Http2Client*>(self)
        ->responses[frame->hd.stream_id]
        .headers[std::string(reinterpret_cast<const char*>(name), name_size)] =
        std::string(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }
  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* self) {
    static_cast<Http2Client*>(self)->responses[id].body.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    auto& client = *static_cast<Http2Client*>(self);
    if (frame->hd.type == NGHTTP2_DATA) client.data_order.push_back(frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      client.responses[frame->hd.stream_id].reset = frame->rst_stream.error_code;
    }
    if (frame->hd.type == NGHTTP2_PING)
      ++((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 ? client.ping_answers : client.pings);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      client.goaways.push_back(
          {frame->goaway.last_stream_id, frame->goaway.error_code,
           std::string(reinterpret_cast<const char*>(frame->goaway.opaque_data), frame->goaway.opaque_data_len)});
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) client.responses[frame->hd.stream_id].is_ended = true;
    return 0;
  }
  static int OnClose(nghttp2_session*, int32_t id, uint32_t, void* self) {
    static_cast<Http2Client*>(self)->responses[id].is_closed = true;
    return 0;
  }
  static ssize_t ReadBody(nghttp2_session*, int32_t, uint8_t* to, size_t size, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    auto& body = *static_cast<Body*>(source->ptr);
    const size_t some = std::min(size, body.bytes.size() - body.sent);
    if (some == 0 && !body.ends) return NGHTTP2_ERR_DEFERRED;
    std::copy_n(body.bytes.data() + body.sent, some, to);
    body.sent += some;
    if (body.ends && body.sent == body.bytes.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(some);
  }

  FileDescriptor socket_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, std::unique_ptr<Body>> bodies_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_HTTP2_CLIENT_H_
