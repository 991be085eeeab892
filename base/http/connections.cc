// SPDX-License-Identifier: Apache-2.0
#include "base/http/connections.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

namespace vitrine {
namespace {

using LoopClock = std::chrono::steady_clock;

// How long to wait when there is no descriptor or memory left for the next connection.
constexpr std::chrono::milliseconds kRetry{50};
// No phase is given up later than this after its end.
constexpr std::chrono::milliseconds kTick{250};
// How long the end waits for a client to take its answer.
constexpr std::chrono::seconds kLastWait{1};

}  // namespace

// A socket that is listened on.
class HttpConnections::Listening final : public Watched {
 public:
  explicit Listening(HttpConnections& of) : Watched(of.loop_), of_(of) {}
  int socket() const { return descriptor(); }
  void Close() { CloseDescriptor(); }

 private:
  void OnReady() override {
    of_.AcceptWaiting(*this);
    if (of_.accept_again_ == EventLoop::Time()) AwaitReadable();
  }

  HttpConnections& of_;
};

// Written to from other threads.
class HttpConnections::WakeUp final : public Watched {
 public:
  explicit WakeUp(HttpConnections& of) : Watched(of.loop_), of_(of) {}
  void Wake() const {
    const uint64_t one = 1;
    (void)!write(descriptor(), &one, sizeof(one));
  }

 private:
  void OnReady() override {
    uint64_t woken;
    (void)!read(descriptor(), &woken, sizeof(woken));
    of_.TakeReplies();
    AwaitReadable();
  }

  HttpConnections& of_;
};

absl::StatusOr<std::unique_ptr<HttpConnections>> HttpConnections::Open(std::vector<FileDescriptor> listening,
                                                                       const Limits& limits, Tls tls,
                                                                       OnThread on_thread, HttpCommon& common) {
  try {
    std::unique_ptr<HttpConnections> opened(new HttpConnections(limits, std::move(tls), std::move(on_thread), common));
    FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.valid()) return absl::UnavailableError("the process has no file descriptor left");
    opened->wake_ = std::make_shared<WakeUp>(*opened);
    opened->wake_->Watch(wake);
    for (FileDescriptor& each : listening) {
      opened->listening_.push_back(std::make_shared<Listening>(*opened));
      opened->listening_.back()->Watch(each);
    }
    return opened;
  } catch (const std::system_error& error) {  // of Asio, which has an epoll and an eventfd of its own
    return absl::UnavailableError(error.what());
  }
}

HttpConnections::HttpConnections(const Limits& limits, Tls tls, OnThread on_thread, HttpCommon& common)
    : limits_(limits), tls_(std::move(tls)), on_thread_(std::move(on_thread)), common_(common) {
  open_.reserve(limits.most);
  replied_.reserve(limits.most);
  taken_.reserve(limits.most);
  common_.closed = [this](HttpConnection& connection) { Forget(connection); };
  common_.replied = [this](std::shared_ptr<HttpConnection> connection) {
    MutexLock lock(mutex_);
    replied_.push_back(std::move(connection));
    wake_->Wake();
  };
}

void HttpConnections::Start() {
  for (const auto& each : listening_) each->AwaitReadable();
  wake_->AwaitReadable();
  thread_ = std::thread([this] { on_thread_ != nullptr ? on_thread_([this] { Run(); }) : Run(); });
}

HttpConnections::~HttpConnections() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    if (wake_ != nullptr) wake_->Wake();
  }
  if (thread_.joinable()) thread_.join();
}

void HttpConnections::Run() {
  pthread_setname_np(pthread_self(), "http");
  loop_.Run([this] { return next_tick_; }, [this] { Tick(); });
}

void HttpConnections::TakeReplies() {
  bool ending = false;
  {
    MutexLock lock(mutex_);
    taken_.swap(replied_);
    ending = ending_;
  }
  for (const std::shared_ptr<HttpConnection>& each : taken_) each->TakeReply();
  taken_.clear();
  KeepUnsentInBounds();
  if (ending) End();
}

void HttpConnections::Tick() {
  const EventLoop::Time now = LoopClock::now();
  next_tick_ = EventLoop::Time::max();
  // From the last: one that is closed gives its place to it.
  for (size_t i = open_.size(); i-- > 0;) {
    const std::shared_ptr<HttpConnection> each = open_[i];
    if (now >= each->until()) each->TimeIsUp();
  }
  if (ends_ != EventLoop::Time()) return End();
  if (accept_again_ != EventLoop::Time() && now >= accept_again_) {
    accept_again_ = {};
    if (!waiting_.socket.valid() || Adopt()) {
      for (const auto& each : listening_) each->AwaitReadable();
    }
  }
  if (accept_again_ != EventLoop::Time()) TickBy(accept_again_);
  if (!open_.empty()) TickBy(now + kTick);
}

void HttpConnections::TickBy(EventLoop::Time moment) {
  next_tick_ = std::min(next_tick_, moment);
}

void HttpConnections::End() {
  if (ends_ == EventLoop::Time()) {
    ends_ = LoopClock::now() + kLastWait;
    for (const auto& each : listening_) each->Close();
  }
  for (size_t i = open_.size(); i-- > 0;) {
    const std::shared_ptr<HttpConnection> each = open_[i];
    each->ServerEnds(ends_);
  }
  if (open_.empty()) return loop_.Stop();
  TickBy(LoopClock::now() + kTick);
}

void HttpConnections::AcceptWaiting(Listening& listening) {
  for (;;) {
    waiting_.address_bytes = sizeof(waiting_.address);
    waiting_.socket = FileDescriptor(accept4(listening.socket(), reinterpret_cast<sockaddr*>(&waiting_.address),
                                             &waiting_.address_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!waiting_.socket.valid()) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (!exhausted) continue;  // the connection that was to be accepted has failed: accept(2)
      CloseIdlest();             // its descriptor is for the one that waits
      accept_again_ = LoopClock::now() + kRetry;
      return TickBy(accept_again_);
    }
    if (open_.size() >= limits_.most) CloseIdlest();
    if (open_.size() >= limits_.most) continue;  // all are worked on: this one is turned away
    if (!Adopt()) return;
  }
}

bool HttpConnections::Adopt() {
  try {
    const auto fresh =
        std::make_shared<HttpConnection>(loop_, waiting_.socket.get(), waiting_.address, waiting_.address_bytes,
                                         tls_ == nullptr ? nullptr : tls_(), common_);
    fresh->Watch(waiting_.socket);
    fresh->place = open_.size();
    open_.push_back(fresh);
    TickBy(LoopClock::now() + kTick);
    fresh->Begin();
  } catch (const std::bad_alloc&) {
    accept_again_ = LoopClock::now() + kRetry;
    TickBy(accept_again_);
    return false;
  } catch (const std::system_error&) {  // the system watches no more descriptors: this one is turned away
    waiting_.socket = FileDescriptor();
  }
  return true;
}

void HttpConnections::CloseIdlest() {
  const auto idleness = [](const HttpConnection& each) {
    switch (each.phase()) {
      case HttpConnection::Phase::kWorking:
      case HttpConnection::Phase::kSending:
        return 0;
      case HttpConnection::Phase::kBody:
        return 1;
      default:
        return 2;
    }
  };
  std::shared_ptr<HttpConnection> idlest;
  for (const std::shared_ptr<HttpConnection>& each : open_) {
    const int idle = idleness(*each);
    const int before = idlest == nullptr ? 0 : idleness(*idlest);
    if (idle > before || (idle > 0 && idle == before && each->since() < idlest->since())) idlest = each;
  }
  if (idlest != nullptr) idlest->Close();
}

void HttpConnections::KeepUnsentInBounds() {
  size_t unsent = 0;
  for (const auto& each : open_) unsent += each->unsent_bytes();
  while (unsent > limits_.unsent_bytes) {
    std::shared_ptr<HttpConnection> first;
    for (const auto& each : open_) {
      if (each->unsent_bytes() > 0 && (first == nullptr || each->until() < first->until())) first = each;
    }
    unsent -= first->unsent_bytes();
    first->Close();
  }
}

void HttpConnections::Forget(HttpConnection& connection) {
  std::swap(open_[connection.place], open_.back());
  open_[connection.place]->place = connection.place;
  const std::shared_ptr<HttpConnection> last = std::move(open_.back());  // it dies here, outside of the list
  open_.pop_back();
}

}  // namespace vitrine
