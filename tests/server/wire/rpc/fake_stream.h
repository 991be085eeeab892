// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_WIRE_RPC_FAKE_STREAM_H_
#define VITRINE_TESTS_SERVER_WIRE_RPC_FAKE_STREAM_H_

#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/exchange.h"
#include "common/http/request_id.h"
#include "common/mutex.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine::testing {

// A stream that holds the parts of the server's response until Take is called. A call of Take simulates that the client
// receives these parts. Thread-safe.
class FakeStream final : public HttpStream {
 public:
  void Send(Part&& part) override {
    MutexLock lock(mutex_);
    if (is_closed_) return;
    if (!part.head.empty()) head_ = part.head;
    body_ += part.bytes;
    if (part.is_last) {
      trailers_ = part.trailers;
      has_ended_ = true;
    }
    waiting_.push_back(std::move(part.held));
    changed_.NotifyAll();
  }
  void Consume(size_t bytes) override {
    MutexLock lock(mutex_);
    consumed_ += bytes;
  }
  void SetBodyAwaited(bool awaited) override {
    MutexLock lock(mutex_);
    awaits_body_ = awaited;
  }
  void Reset(uint32_t) override {}
  size_t unsent_bytes() const override { return 0; }

  // Makes the client receive all parts that were sent so far.
  void Take() {
    std::deque<std::shared_ptr<void>> taken;
    MutexLock lock(mutex_);
    taken.swap(waiting_);
  }
  void Close() {
    std::deque<std::shared_ptr<void>> dropped;
    MutexLock lock(mutex_);
    is_closed_ = true;
    dropped.swap(waiting_);
  }
  // AwaitEnd waits until the server has ended the response. AwaitMessages waits until the server has sent `count`
  // messages or has ended the response.
  void AwaitEnd() {
    MutexLock lock(mutex_);
    while (!has_ended_) changed_.Wait(mutex_);
  }
  void AwaitMessages(size_t count) {
    MutexLock lock(mutex_);
    while (MessagesIn(body_).size() < count && !has_ended_) changed_.Wait(mutex_);
  }

  bool has_ended() const {
    MutexLock lock(mutex_);
    return has_ended_;
  }
  size_t consumed() const {
    MutexLock lock(mutex_);
    return consumed_;
  }
  bool awaits_body() const {
    MutexLock lock(mutex_);
    return awaits_body_;
  }
  // Returns the value of a header or trailer, or "(none)" if there is none of this name.
  std::string Value(std::string_view name) const {
    MutexLock lock(mutex_);
    for (const HttpHeaders* headers : {&head_, &trailers_}) {
      for (const auto& [key, value] : *headers) {
        if (key == name) return value;
      }
    }
    return "(none)";
  }
  bool is_trailers_only() const {
    MutexLock lock(mutex_);
    return has_ended_ && body_.empty() && trailers_.empty();
  }
  // Returns for each message a pair: true if the message is compressed, and its bytes.
  std::vector<std::pair<bool, std::string>> Messages() const {
    MutexLock lock(mutex_);
    return MessagesIn(body_);
  }

 private:
  static std::vector<std::pair<bool, std::string>> MessagesIn(std::string_view body) {
    std::vector<std::pair<bool, std::string>> messages;
    while (body.size() >= kGrpcPrefixBytes) {
      size_t length = 0;
      for (size_t i = 1; i < kGrpcPrefixBytes; ++i) length = length << 8 | static_cast<unsigned char>(body[i]);
      messages.emplace_back(body[0] != 0, body.substr(kGrpcPrefixBytes, length));
      body.remove_prefix(std::min(body.size(), kGrpcPrefixBytes + length));
    }
    return messages;
  }

  mutable Mutex mutex_;
  CondVar changed_;
  HttpHeaders head_, trailers_;
  std::string body_;
  bool has_ended_ = false;
  bool is_closed_ = false;
  std::deque<std::shared_ptr<void>> waiting_;
  size_t consumed_ = 0;
  bool awaits_body_ = false;
};

inline std::shared_ptr<HttpRequest> GrpcRequest(const std::string& path, const HttpHeaders& metadata = {}) {
  HttpHead head = {.method = "POST", .path = path, .query = "", .headers = {{"content-type", "application/grpc"}}};
  head.headers.insert(head.headers.end(), metadata.begin(), metadata.end());
  head.major_version = 2;
  return std::make_shared<HttpRequest>(HttpRequest{
      .head = std::move(head), .peer = std::make_shared<HttpPeer>(HttpPeer{.address = "ipv4:127.0.0.1:1"})});
}

// The client's side of a call.
class FakeCall {
 public:
  FakeCall(GrpcServer& server, const std::string& path, const HttpHeaders& metadata = {})
      : request_(GrpcRequest(path, metadata)), stream_(std::make_shared<FakeStream>()), watched_(stream_) {
    request_->answer_headers = RequestIdHeader(request_->head);  // as the transport does
    HttpHandling next = server.Begin(request_);
    handler_ = next.open(stream_);
  }
  ~FakeCall() { Close(); }

  void Send(absl::string_view bytes) {
    if (handler_ != nullptr) handler_->OnData(bytes);
  }
  void SendMessage(const google::protobuf::MessageLite& message) { Send(GrpcFrame(message)); }
  void HalfClose() {
    if (handler_ != nullptr) handler_->OnEnd();
  }
  void TooSlow() { handler_->OnTooSlow(); }
  // Closes the client's side of the call. If the server has not ended its response yet, the client thereby resets the
  // stream.
  void Close() {
    const std::shared_ptr<HttpStreamHandler> handler = std::exchange(handler_, nullptr);
    const std::shared_ptr<FakeStream> stream = std::exchange(stream_, nullptr);
    if (stream == nullptr) return;
    if (!stream->has_ended()) request_->hung_up->store(true);
    stream->Close();
    if (handler != nullptr) handler->OnClosed(stream->has_ended());
  }
  // Requires that the call is not closed.
  FakeStream& stream() { return *stream_; }
  // Returns true while the server or the call refers to the stream.
  bool is_held() const { return !watched_.expired(); }

 private:
  const std::shared_ptr<HttpRequest> request_;
  std::shared_ptr<FakeStream> stream_;  // null after Close
  const std::weak_ptr<FakeStream> watched_;
  std::shared_ptr<HttpStreamHandler> handler_;  // null if the server does not read the body
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_WIRE_RPC_FAKE_STREAM_H_
