// SPDX-License-Identifier: Apache-2.0
#include "base/http/connections.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

using Clock = std::chrono::steady_clock;

// How long a client may go on sending behind its last answer: to hang up on it would take the answer away from it.
constexpr std::chrono::seconds kEndingTime{1};
// How long to wait when there is no descriptor left for the next connection.
constexpr std::chrono::milliseconds kRetry{50};
constexpr size_t kReadBytes = size_t{16} << 10;
// Reads from a connection that is ending, before others have their turn.
constexpr int kReadsAtOnce = 8;

Clock::time_point After(absl::Duration duration) {
  return Clock::now() + absl::ToChronoNanoseconds(duration);
}

bool WouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

std::string PeerText(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), port, sizeof(port),
              NI_NUMERICHOST | NI_NUMERICSERV);
  return address.ss_family == AF_INET6 ? absl::StrCat("ipv6:[", host, "]:", port)
                                       : absl::StrCat("ipv4:", host, ":", port);
}

// Sends what the system takes at once. False if the client is gone.
bool SendSome(HttpConnection& connection) {
  while (connection.sent_bytes < connection.to_send.size()) {
    const ssize_t sent = send(connection.socket.get(), connection.to_send.data() + connection.sent_bytes,
                              connection.to_send.size() - connection.sent_bytes, MSG_NOSIGNAL);
    if (sent < 0) return WouldBlock();
    connection.sent_bytes += static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpConnections>> HttpConnections::Open(std::vector<FileDescriptor> listening,
                                                                       const Limits& limits, Take take) {
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return absl::UnavailableError("the process has no file descriptor left");
  return std::unique_ptr<HttpConnections>(
      new HttpConnections(std::move(listening), std::move(wake), limits, std::move(take)));
}

HttpConnections::HttpConnections(std::vector<FileDescriptor> listening, FileDescriptor wake, const Limits& limits,
                                 Take take)
    : wake_(std::move(wake)), limits_(limits), take_(std::move(take)), listening_(std::move(listening)) {}

void HttpConnections::Start() {
  thread_ = std::thread([this] { Run(); });
}

HttpConnections::~HttpConnections() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
}

void HttpConnections::Send(Connection connection) {
  connection->phase = HttpConnection::Phase::kSending;
  connection->sent_bytes = 0;
  connection->until = After(limits_.head);
  SendSome(*connection);  // most answers are out with this; a client that is gone is noticed by the thread
  {
    MutexLock lock(mutex_);
    --handed_out_;
    returned_.push_back(std::move(connection));
  }
  Wake();
}

void HttpConnections::Wake() const {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void HttpConnections::Run() {
  pthread_setname_np(pthread_self(), "http");
  while (!IsDone()) {
    try {
      AdoptReturned();
      const std::vector<pollfd> events = AwaitEvents();
      uint64_t woken;
      (void)!read(wake_.get(), &woken, sizeof(woken));
      // Connections in the order of their events; new ones come behind.
      auto each = held_.begin();
      for (size_t i = 1 + listening_.size(); i < events.size(); ++i) {
        const auto here = each++;
        if (events[i].revents == 0 && Clock::now() < (*here)->until) continue;
        Connection connection = std::move(*here);
        held_.erase(here);
        Advance(std::move(connection));
      }
      for (size_t i = 0; i < listening_.size(); ++i) {
        if (events[1 + i].revents != 0) AcceptWaiting(events[1 + i].fd);
      }
    } catch (const std::bad_alloc&) {
      CloseIdlest();
    }
  }
}

bool HttpConnections::IsDone() {
  {
    MutexLock lock(mutex_);
    if (!ending_) return false;
    if (!returned_.empty()) return false;
  }
  if (!listening_.empty()) {
    listening_.clear();
    for (const Connection& each : held_) each->until = std::min(each->until, Clock::now() + kEndingTime);
  }
  return std::none_of(held_.begin(), held_.end(),
                      [](const Connection& each) { return each->phase == HttpConnection::Phase::kSending; });
}

void HttpConnections::AdoptReturned() {
  std::vector<Connection> returned;
  {
    MutexLock lock(mutex_);
    returned.swap(returned_);
  }
  for (Connection& each : returned) Advance(std::move(each));
  if (!returned.empty()) KeepUnsentInBounds();
}

void HttpConnections::KeepUnsentInBounds() {
  size_t unsent = 0;
  for (const Connection& each : held_) unsent += each->to_send.size();
  for (auto each = held_.begin(); each != held_.end() && unsent > limits_.unsent_bytes;) {
    unsent -= (*each)->to_send.size();
    each = (*each)->to_send.empty() ? std::next(each) : held_.erase(each);
  }
}

std::vector<pollfd> HttpConnections::AwaitEvents() const {
  const Clock::time_point now = Clock::now();
  const bool accepts = now >= accept_again_;
  Clock::time_point until = accepts ? Clock::time_point::max() : accept_again_;
  std::vector<pollfd> events = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  events.reserve(1 + listening_.size() + held_.size());
  for (const FileDescriptor& each : listening_) {
    events.push_back({.fd = each.get(), .events = static_cast<int16_t>(accepts ? POLLIN : 0), .revents = 0});
  }
  for (const Connection& each : held_) {
    const int16_t awaited = each->phase == HttpConnection::Phase::kSending ? POLLOUT : POLLIN;
    events.push_back({.fd = each->socket.get(), .events = awaited, .revents = 0});
    until = std::min(until, each->until);
  }
  int timeout = -1;
  if (until != Clock::time_point::max()) {
    timeout = static_cast<int>(std::max<int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(until - now).count()));
  }
  if (poll(events.data(), events.size(), timeout) < 0) {
    for (pollfd& each : events) each.revents = 0;
  }
  return events;
}

void HttpConnections::AcceptWaiting(int listening) {
  for (;;) {
    sockaddr_storage peer = {};
    socklen_t size = sizeof(peer);
    FileDescriptor socket(accept4(listening, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (WouldBlock()) return;
      CloseIdlest();  // its descriptor is for the one that waits
      accept_again_ = Clock::now() + kRetry;
      return;
    }
    size_t handed_out = 0;
    {
      MutexLock lock(mutex_);
      handed_out = handed_out_;
    }
    if (held_.size() + handed_out >= limits_.most) CloseIdlest();
    if (held_.size() + handed_out >= limits_.most) continue;  // all are worked on: this one is turned away
    auto connection = std::make_unique<HttpConnection>();
    connection->socket = std::move(socket);
    connection->peer = PeerText(peer, size);
    connection->until = After(limits_.head);
    held_.push_back(std::move(connection));
  }
}

void HttpConnections::CloseIdlest() {
  auto idlest = held_.end();
  for (auto each = held_.begin(); each != held_.end(); ++each) {
    if ((*each)->phase == HttpConnection::Phase::kSending) continue;
    if (idlest == held_.end() || (*each)->until < (*idlest)->until) idlest = each;
  }
  if (idlest != held_.end()) held_.erase(idlest);
}

void HttpConnections::Advance(Connection connection) {
  switch (Clock::now() < connection->until ? Step(*connection) : Next::kClose) {
    case Next::kWait:
      return held_.push_back(std::move(connection));
    case Next::kHandOut:
      return HandOut(std::move(connection));
    case Next::kClose:
      return;
  }
}

HttpConnections::Next HttpConnections::Step(HttpConnection& connection) const {
  if (connection.phase == HttpConnection::Phase::kHead) return ReadHead(connection);
  if (connection.phase == HttpConnection::Phase::kSending) return SendMore(connection);
  char passed_over[kReadBytes];
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t got = recv(connection.socket.get(), passed_over, sizeof(passed_over), 0);
    if (got <= 0) return got < 0 && WouldBlock() ? Next::kWait : Next::kClose;
  }
  return Next::kWait;
}

HttpConnections::Next HttpConnections::ReadHead(HttpConnection& connection) const {
  while (HttpHeadBytes(connection.received) == 0 && connection.received.size() <= kMaxHttpHeadBytes) {
    char bytes[kReadBytes];
    const ssize_t got = recv(connection.socket.get(), bytes, sizeof(bytes), 0);
    if (got <= 0) return got < 0 && WouldBlock() ? Next::kWait : Next::kClose;
    connection.received.append(bytes, static_cast<size_t>(got));
  }
  return Next::kHandOut;
}

HttpConnections::Next HttpConnections::SendMore(HttpConnection& connection) const {
  if (!SendSome(connection)) return Next::kClose;
  if (connection.sent_bytes < connection.to_send.size()) return Next::kWait;
  connection.held = nullptr;
  connection.to_send = std::string();
  if (connection.keep) {
    connection.phase = HttpConnection::Phase::kHead;
    connection.until = After(limits_.keep_alive);
    return ReadHead(connection);
  }
  shutdown(connection.socket.get(), SHUT_WR);
  connection.phase = HttpConnection::Phase::kEnding;
  connection.until = Clock::now() + kEndingTime;
  return Next::kWait;
}

void HttpConnections::HandOut(Connection connection) {
  const size_t bytes = HttpHeadBytes(connection->received);
  HttpArrival head = ParseHttpHead(bytes == 0 ? connection->received : connection->received.substr(0, bytes));
  connection->received.erase(0, bytes);
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    ++handed_out_;
  }
  take_(std::move(connection), std::move(head));
}

}  // namespace vitrine
