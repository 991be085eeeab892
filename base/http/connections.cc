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
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

using Clock = std::chrono::steady_clock;

// How long a client may go on sending behind its last answer: to hang up on it would take the answer away from it.
constexpr std::chrono::seconds kEndingTime{1};
// How long to wait when there is no descriptor or memory left for the next connection.
constexpr std::chrono::milliseconds kRetry{50};
constexpr size_t kReadBytes = size_t{16} << 10;
// Reads from a connection that is ending, before others have their turn.
constexpr int kReadsAtOnce = 8;
constexpr std::string_view kOutOfMemory =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n"
    "Connection: close\r\n\r\nout of memory\n";

Clock::time_point After(absl::Duration duration) {
  return Clock::now() + absl::ToChronoNanoseconds(duration);
}

bool WouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
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

// Nothing more is sent to the client.
void End(HttpConnection& connection) {
  shutdown(connection.socket.get(), SHUT_WR);
  connection.phase = HttpConnection::Phase::kEnding;
  connection.until = Clock::now() + kEndingTime;
}

}  // namespace

std::string HttpConnection::Peer() const {
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), address_bytes, host, sizeof(host), port, sizeof(port),
              NI_NUMERICHOST | NI_NUMERICSERV);
  return address.ss_family == AF_INET6 ? absl::StrCat("ipv6:[", host, "]:", port)
                                       : absl::StrCat("ipv4:", host, ":", port);
}

void HttpConnection::SendOutOfMemory() {
  (void)!send(socket.get(), kOutOfMemory.data(), kOutOfMemory.size(), MSG_NOSIGNAL);
  to_send.clear();
  keep = false;
  held = nullptr;
}

absl::StatusOr<std::unique_ptr<HttpConnections>> HttpConnections::Open(std::vector<FileDescriptor> listening,
                                                                       const Limits& limits, Take take) {
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return absl::UnavailableError("the process has no file descriptor left");
  return std::unique_ptr<HttpConnections>(
      new HttpConnections(std::move(listening), std::move(wake), limits, std::move(take)));
}

HttpConnections::HttpConnections(std::vector<FileDescriptor> listening, FileDescriptor wake, const Limits& limits,
                                 Take take)
    : wake_(std::move(wake)), limits_(limits), take_(std::move(take)), listening_(std::move(listening)) {
  events_.reserve(1 + listening_.size() + limits_.most);
}

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

void HttpConnections::Send(HttpConnectionNode node) {
  HttpConnection& connection = node.front();
  connection.phase = HttpConnection::Phase::kSending;
  connection.sent_bytes = 0;
  connection.until = After(limits_.head);
  SendSome(connection);  // most answers are out with this; a client that is gone is noticed by the thread
  {
    MutexLock lock(mutex_);
    --handed_out_;
    returned_.splice(returned_.end(), node);
  }
  Wake();
}

void HttpConnections::Wake() const {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void HttpConnections::Run() {
  pthread_setname_np(pthread_self(), "http");
  for (;;) {
    // First: what comes back afterwards wakes the thread again.
    AdoptReturned();
    if (IsDone()) return;
    AwaitEvents();
    uint64_t woken;
    (void)!read(wake_.get(), &woken, sizeof(woken));
    // Connections in the order of their events; new ones come behind.
    auto each = held_.begin();
    for (size_t i = 1 + listening_.size(); i < events_.size(); ++i) {
      const auto here = each++;
      if (events_[i].revents != 0 || Clock::now() >= here->until) Advance(here);
    }
    AcceptAll();
  }
}

void HttpConnections::AcceptAll() {
  try {
    for (size_t i = 0; i < listening_.size(); ++i) {
      if (events_[1 + i].revents != 0) AcceptWaiting(events_[1 + i].fd);
    }
  } catch (const std::bad_alloc&) {
    accept_again_ = Clock::now() + kRetry;
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
    for (HttpConnection& each : held_) each.until = std::min(each.until, Clock::now() + kEndingTime);
  }
  return std::none_of(held_.begin(), held_.end(),
                      [](const HttpConnection& each) { return each.phase == HttpConnection::Phase::kSending; });
}

void HttpConnections::AdoptReturned() {
  HttpConnectionNode returned;
  {
    MutexLock lock(mutex_);
    returned.swap(returned_);
  }
  if (returned.empty()) return;
  auto next = returned.begin();
  held_.splice(held_.end(), returned);
  while (next != held_.end()) Advance(next++);
  KeepUnsentInBounds();
}

void HttpConnections::KeepUnsentInBounds() {
  size_t unsent = 0;
  for (const HttpConnection& each : held_) unsent += each.to_send.size();
  for (auto each = held_.begin(); each != held_.end() && unsent > limits_.unsent_bytes;) {
    unsent -= each->to_send.size();
    each = each->to_send.empty() ? std::next(each) : held_.erase(each);
  }
}

void HttpConnections::AwaitEvents() {
  const Clock::time_point now = Clock::now();
  const bool accepts = now >= accept_again_;
  Clock::time_point until = accepts ? Clock::time_point::max() : accept_again_;
  events_.clear();
  events_.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for (const FileDescriptor& each : listening_) {
    events_.push_back({.fd = each.get(), .events = static_cast<int16_t>(accepts ? POLLIN : 0), .revents = 0});
  }
  for (const HttpConnection& each : held_) {
    const int16_t awaited = each.phase == HttpConnection::Phase::kSending ? POLLOUT : POLLIN;
    events_.push_back({.fd = each.socket.get(), .events = awaited, .revents = 0});
    until = std::min(until, each.until);
  }
  int timeout = -1;
  if (until != Clock::time_point::max()) {
    timeout = static_cast<int>(std::max<int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(until - now).count()));
  }
  if (poll(events_.data(), events_.size(), timeout) < 0) {
    for (pollfd& each : events_) each.revents = 0;
  }
}

void HttpConnections::AcceptWaiting(int listening) {
  for (;;) {
    HttpConnectionNode node(1);  // first: without memory the connection goes on waiting
    HttpConnection& fresh = node.front();
    fresh.address_bytes = sizeof(fresh.address);
    fresh.socket = FileDescriptor(accept4(listening, reinterpret_cast<sockaddr*>(&fresh.address), &fresh.address_bytes,
                                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fresh.socket.valid()) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (!exhausted) continue;  // the connection that was to be accepted has failed: accept(2)
      CloseIdlest();             // its descriptor is for the one that waits
      accept_again_ = Clock::now() + kRetry;
      return;
    }
    size_t handed_out = 0;
    {
      MutexLock lock(mutex_);
      handed_out = handed_out_ + returned_.size();
    }
    if (held_.size() + handed_out >= limits_.most) CloseIdlest();
    if (held_.size() + handed_out >= limits_.most) continue;  // all are worked on: this one is turned away
    fresh.since = Clock::now();
    fresh.until = After(limits_.head);
    held_.splice(held_.end(), node);
  }
}

void HttpConnections::CloseIdlest() {
  auto idlest = held_.end();
  for (auto each = held_.begin(); each != held_.end(); ++each) {
    if (each->phase == HttpConnection::Phase::kSending) continue;
    if (idlest == held_.end() || each->since < idlest->since) idlest = each;
  }
  if (idlest != held_.end()) held_.erase(idlest);
}

void HttpConnections::Advance(Held connection) {
  try {
    switch (Clock::now() < connection->until ? Step(*connection) : Next::kClose) {
      case Next::kWait:
        return;
      case Next::kHandOut:
        return HandOut(connection);
      case Next::kClose:
        held_.erase(connection);
    }
  } catch (const std::bad_alloc&) {
    connection->SendOutOfMemory();
    End(*connection);
    if (limits_.out_of_memory != nullptr) limits_.out_of_memory();
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
    connection.since = Clock::now();
    connection.until = After(limits_.keep_alive);
    return ReadHead(connection);
  }
  End(connection);
  return Next::kWait;
}

// Nothing here takes memory once the connection counts as handed out.
void HttpConnections::HandOut(Held connection) {
  const absl::string_view received = connection->received;
  const size_t bytes = HttpHeadBytes(received);
  connection->head = ParseHttpHead(bytes == 0 ? received : received.substr(0, bytes));
  connection->received.erase(0, bytes);
  HttpConnectionNode node;
  node.splice(node.end(), held_, connection);
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    ++handed_out_;
  }
  take_(std::move(node));
}

}  // namespace vitrine
