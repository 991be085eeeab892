// SPDX-License-Identifier: Apache-2.0
#include "common/http/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr int kEventsAtOnce = 128;

}  // namespace

Watched::Watched(EventLoop& loop, FileDescriptor descriptor)
    : loop_(loop.shared_from_this()), descriptor_(std::move(descriptor)) {}

Watched::~Watched() = default;

void Watched::Await(bool readable, bool writable) {
  if (is_closed()) return;
  const uint32_t wanted = (readable ? EPOLLIN | EPOLLRDHUP : 0U) | (writable ? EPOLLOUT : 0U);
  if (is_added_ && events_ == wanted) return;
  epoll_event event = {.events = wanted, .data = {.ptr = this}};
  if (epoll_ctl(loop_->epoll_.get(), is_added_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor(), &event) != 0) return;
  is_added_ = true;
  events_ = wanted;
}

void Watched::Ignore() {
  if (is_closed() || !std::exchange(is_added_, false)) return;
  epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_DEL, descriptor(), nullptr);
}

void Watched::Wake() {
  if (!is_woken_.exchange(true, std::memory_order_acq_rel)) loop_->Add(shared_from_this());
}

void Watched::CloseDescriptor() {
  if (is_closed()) return;
  if (is_added_) epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_DEL, descriptor(), nullptr);
  descriptor_ = FileDescriptor();
  loop_->closed_.push_back(shared_from_this());
}

absl::StatusOr<std::shared_ptr<EventLoop>> EventLoop::Make(Time (*clock)()) {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event = {.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (!epoll.valid() || !wake.valid() || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    return absl::UnavailableError(absl::StrCat("the system provides no event queue: ", strerror(errno)));
  }
  return std::shared_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wake), clock));
}

EventLoop::EventLoop(FileDescriptor epoll, FileDescriptor wake, Time (*clock)())
    : epoll_(std::move(epoll)), wake_(std::move(wake)), clock_(clock) {}

EventLoop::~EventLoop() = default;

void EventLoop::Add(std::shared_ptr<Watched> woken) {
  MutexLock lock(mutex_);
  if (has_ended_) return;
  woken_.push_back(std::move(woken));
  WakeUp();
}

void EventLoop::Post(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (has_ended_) return;  // `work` is destroyed after the lock is released
  posted_.push_back(std::move(work));
  WakeUp();
}

// Wakes the loop's thread. If the caller is this thread, no signal is needed, because this thread checks the lists of
// pending calls before it waits.
void EventLoop::WakeUp() {
  if (IsThisThread() || std::exchange(is_signalled_, true)) return;
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void EventLoop::Stop() {
  stops_.store(true, std::memory_order_release);
  MutexLock lock(mutex_);
  WakeUp();
}

void EventLoop::RunPosted() {
  std::vector<std::function<void()>> posted;
  {
    MutexLock lock(mutex_);
    if (is_signalled_) {
      uint64_t woken;
      (void)!read(wake_.get(), &woken, sizeof(woken));
      is_signalled_ = false;
    }
    taken_.swap(woken_);
    posted.swap(posted_);
  }
  for (const std::shared_ptr<Watched>& each : taken_) {
    each->is_woken_.exchange(false, std::memory_order_acq_rel);
    if (!each->is_closed()) each->OnWoken();
  }
  taken_.clear();
  for (const std::function<void()>& each : posted) each();
}

void EventLoop::Run(std::chrono::milliseconds period, const std::function<void()>& tick) {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  epoll_event events[kEventsAtOnce];
  Time time = clock_();  // start of the current round
  Time next_tick = time + period;
  while (!stops_.load(std::memory_order_acquire)) {
    bool has_more = false;
    {
      MutexLock lock(mutex_);
      has_more = !woken_.empty() || !posted_.empty();
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_tick - clock_());
    const int timeout = has_more ? 0 : static_cast<int>(std::clamp<int64_t>(wait.count(), 0, period.count()));
    const int count = epoll_wait(epoll_.get(), events, kEventsAtOnce, timeout);
    const Time last = std::exchange(time, clock_());
    if (time - last > period + kLongestRound) paused_ += time - last - period;
    now_ = time - paused_;
    for (int i = 0; i < count; ++i) {
      auto* const ready = static_cast<Watched*>(events[i].data.ptr);
      if (ready == nullptr || ready->is_closed()) continue;
      const uint32_t what = events[i].events;
      const bool failed = (what & (EPOLLERR | EPOLLHUP)) != 0;
      ready->OnReady(failed || (what & (EPOLLIN | EPOLLRDHUP)) != 0, failed || (what & EPOLLOUT) != 0, failed);
    }
    RunPosted();
    if (time >= next_tick) {
      tick();
      next_tick = time + period;
    }
    closed_.clear();
  }
  RunPosted();
  closed_.clear();
  // Destroyed after the lock is released:
  std::vector<std::function<void()>> dropped;
  std::vector<std::shared_ptr<Watched>> woken;
  MutexLock lock(mutex_);
  has_ended_ = true;
  dropped.swap(posted_);
  woken.swap(woken_);
}

}  // namespace vitrine
