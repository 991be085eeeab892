// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/raw_http2.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace vitrine::testing {
namespace {

// Frame types of RFC 9113, section 6.
enum FrameType { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kWindowUpdate = 8 };
constexpr int kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr int kInitialWindowSize = 4;  // identifier of the HTTP/2 setting
constexpr int64_t kMaxFrame = 16384;
constexpr size_t kFrameHead = 9;

std::string BigEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

uint32_t Number(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// Returns the HPACK length of a string without Huffman coding (RFC 7541, section 5.1).
std::string Length(size_t length) {
  constexpr size_t kPrefix = 127;
  if (length < kPrefix) return {static_cast<char>(length)};
  std::string bytes = {static_cast<char>(kPrefix)};
  for (length -= kPrefix; length >= 128; length /= 128) bytes.push_back(static_cast<char>(length % 128 + 128));
  bytes.push_back(static_cast<char>(length));
  return bytes;
}

// Returns a header field that is not added to HPACK's table (RFC 7541, section 6.2.2).
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + Length(name.size()) + name + Length(value.size()) + value;
}

}  // namespace

int ConnectTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(colon + 1), &port));
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr);
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  return connection;
}

RawHttp2::RawHttp2(const std::string& address, uint32_t answer_window) : socket_(ConnectTcp(address)) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  EXPECT_EQ(send(socket_, preface.data(), preface.size(), MSG_NOSIGNAL), static_cast<ssize_t>(preface.size()));
  SendFrame(kSettings, 0, 0, BigEndian(kInitialWindowSize, 2) + BigEndian(answer_window, 4));
}

RawHttp2::~RawHttp2() {
  close(socket_);
}

void RawHttp2::Open(const std::string& method, int64_t message_bytes, const std::string& content_type) {
  const std::string fields = Field(":method", "POST") + Field(":scheme", "http") + Field(":path", method) +
                             Field(":authority", "localhost") + Field("te", "trailers") +
                             Field("content-type", content_type);
  SendFrame(kHeaders, kEndHeaders, next_stream_, fields);
  // The prefix of gRPC: the flag "not compressed", and the length.
  SendFrame(kData, 0, next_stream_, std::string(1, '\0') + BigEndian(message_bytes, 4));
  window_ -= 5;
  calls_[next_stream_] = {.left = 0, .window = initial_window_ - 5};
  next_stream_ += 2;
}

void RawHttp2::Call(const std::string& method, const std::string& message) {
  const uint32_t stream = next_stream_;
  Open(method, static_cast<int64_t>(message.size()));
  SendFrame(kData, kEndStream, stream, message);
  window_ -= static_cast<int64_t>(message.size());
}

int64_t RawHttp2::Push(int64_t bytes, absl::Duration quiet) {
  for (auto& [stream, call] : calls_) call.left = bytes;
  int64_t sent = 0;
  absl::Time moved = absl::Now();
  while (!closed_ && absl::Now() - moved < quiet) {
    const int64_t before = window_;
    const bool some = SendSome();
    if (some) moved = absl::Now();
    sent += before - window_;
    const bool done = std::all_of(calls_.begin(), calls_.end(), [](const auto& each) { return each.second.left == 0; });
    Receive(some ? absl::ZeroDuration() : absl::Milliseconds(10));
    if (done) break;
  }
  return sent;
}

bool RawHttp2::SendSome() {
  bool some = false;
  for (auto& [stream, call] : calls_) {
    const int64_t part = std::min({call.left, call.window, window_, kMaxFrame});
    if (part <= 0 || closed_) continue;
    SendFrame(kData, 0, stream, std::string(part, '\0'));
    call.left -= part;
    call.window -= part;
    window_ -= part;
    some = true;
  }
  return some;
}

void RawHttp2::SendFrame(int type, int flags, uint32_t stream, const std::string& payload) {
  const std::string frame = BigEndian(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
                            BigEndian(stream, 4) + payload;
  for (size_t at = 0; at < frame.size() && !closed_;) {
    const ssize_t sent = send(socket_, frame.data() + at, frame.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) closed_ = true;
    at += std::max<ssize_t>(sent, 0);
  }
}

void RawHttp2::Receive(absl::Duration patience) {
  pollfd waiting = {.fd = socket_, .events = POLLIN, .revents = 0};
  while (!closed_ && poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) > 0) {
    char part[16384];
    const ssize_t got = recv(socket_, part, sizeof(part), 0);
    if (got <= 0) {
      closed_ = true;
      return;
    }
    received_.append(part, got);
    while (received_.size() >= kFrameHead) {
      const size_t length = Number(received_.substr(0, 3));
      if (received_.size() < kFrameHead + length) break;
      OnFrame(received_[3], received_[4], Number(received_.substr(5, 4)), received_.substr(kFrameHead, length));
      received_.erase(0, kFrameHead + length);
    }
    patience = absl::ZeroDuration();
  }
}

void RawHttp2::OnFrame(int type, int flags, uint32_t stream, const std::string& payload) {
  if (type == kSettings && (flags & kAck) == 0) {
    for (size_t at = 0; at + 6 <= payload.size(); at += 6) {
      if (Number(payload.substr(at, 2)) != kInitialWindowSize) continue;
      const int64_t size = Number(payload.substr(at + 2, 4));
      for (auto& [id, call] : calls_) call.window += size - initial_window_;
      initial_window_ = size;
    }
    SendFrame(kSettings, kAck, 0, "");
  } else if (type == kPing && (flags & kAck) == 0) {
    SendFrame(kPing, kAck, 0, payload);
  } else if (type == kWindowUpdate && stream == 0) {
    window_ += Number(payload);
  } else if (type == kWindowUpdate) {
    if (const auto call = calls_.find(stream); call != calls_.end()) call->second.window += Number(payload);
  } else if (type == kReset || (type == kHeaders && (flags & kEndStream) != 0)) {
    calls_.erase(stream);
  }
}

}  // namespace vitrine::testing
