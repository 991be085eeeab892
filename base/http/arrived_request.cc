// SPDX-License-Identifier: Apache-2.0
#include "base/http/arrived_request.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/gunzip.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// A body that takes longer to arrive is given up: a slow sender holds a thread.
constexpr std::chrono::seconds kMaxBodyTime{30};
// How often whoever waits for a body looks whether the server ends.
constexpr std::chrono::milliseconds kLookForEnd{200};

}  // namespace

absl::StatusOr<std::string> ArrivedRequest::ReadBody() {
  RETURN_IF_ERROR(CheckBody());
  const auto length = static_cast<size_t>(*head().ContentLength());
  std::string body(length, '\0');
  const size_t here = std::min(length, connection_.received.size());
  connection_.received.copy(body.data(), here);
  connection_.received.erase(0, here);
  RETURN_IF_ERROR(Receive(body, here));
  read_all_ = true;
  if (!IsCompressed()) return body;
  RETURN_IF_ERROR(TakeRoom(std::min<int64_t>(StatedGunzipSize(body), options_.max_body_bytes)));
  return Gunzip(body, static_cast<size_t>(options_.max_body_bytes));
}

bool ArrivedRequest::IsCompressed() const {
  return absl::EqualsIgnoreCase(Header("Content-Encoding").value_or(""), "gzip");
}

absl::Status ArrivedRequest::CheckBody() {
  if (!IsCompressed() && !absl::EqualsIgnoreCase(Header("Content-Encoding").value_or("identity"), "identity")) {
    return absl::InvalidArgumentError("the body's Content-Encoding is not known; send it as it is, or with gzip");
  }
  if (!head().ContentLength().has_value()) return absl::InvalidArgumentError("the request has no Content-Length");
  const int64_t length = *head().ContentLength();
  if (length > options_.max_body_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the body has ", length, " bytes; at most ", options_.max_body_bytes, " are read"));
  }
  return TakeRoom(length);
}

absl::Status ArrivedRequest::TakeRoom(int64_t bytes) {
  if (bodies_.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= options_.max_all_bodies_bytes) {
    taken_ += bytes;
    return absl::OkStatus();
  }
  bodies_.bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return absl::ResourceExhaustedError("too many large requests are on their way at once; come back in a moment");
}

absl::Status ArrivedRequest::Receive(std::string& body, size_t read) {
  if (read < body.size() && absl::EqualsIgnoreCase(Header("Expect").value_or(""), "100-continue")) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    (void)!send(connection_.socket.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
  }
  const auto end = std::chrono::steady_clock::now() + kMaxBodyTime;
  while (read < body.size()) {
    const ssize_t more = recv(connection_.socket.get(), body.data() + read, body.size() - read, 0);
    if (more > 0) {
      read += static_cast<size_t>(more);
    } else if (more == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return absl::InvalidArgumentError("the body ended before its Content-Length");
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return absl::DeadlineExceededError("the body took too long to arrive");
    if (bodies_.ending) return absl::UnavailableError("the server is draining");
    pollfd waiting = {.fd = connection_.socket.get(), .events = POLLIN, .revents = 0};
    if (read < body.size()) poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, kLookForEnd.count())));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
