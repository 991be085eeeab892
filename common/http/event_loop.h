// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_EVENT_LOOP_H_
#define VITRINE_COMMON_HTTP_EVENT_LOOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"
#include "common/mutex.h"

namespace vitrine {

class EventLoop;

// A file descriptor watched by a loop. All functions except Wake run on the loop's thread. A shared_ptr must own the
// object. The loop keeps a closed object alive until the end of the current round, which is one epoll_wait and the
// handling of its events.
class Watched : public std::enable_shared_from_this<Watched> {
 public:
  Watched(EventLoop& loop, FileDescriptor descriptor);
  virtual ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Sets the events that call OnReady. They are level-triggered: while the descriptor is ready, OnReady is called in
  // every round, once per round.
  void Await(bool readable, bool writable);
  // Stops watching the descriptor until the next Await. Needed for a failed connection, which would otherwise call
  // OnReady in every round.
  void Ignore();
  // Schedules a call of OnWoken. Several calls of Wake before OnWoken runs cause only one call. Thread-safe.
  void Wake();

  EventLoop& loop() const { return *loop_; }
  bool is_closed() const { return !descriptor_.valid(); }

 protected:
  int descriptor() const { return descriptor_.get(); }
  void CloseDescriptor();

 private:
  friend class EventLoop;
  // `failed`: the connection failed or both directions are closed; then readable and writable are also true.
  virtual void OnReady(bool readable, bool writable, bool failed) = 0;
  virtual void OnWoken() {}

  const std::shared_ptr<EventLoop> loop_;  // shared because other threads may call Wake after the loop has ended
  FileDescriptor descriptor_;
  uint32_t events_ = 0;                 // events set in epoll
  bool is_added_ = false;               // true: registered in epoll
  std::atomic<bool> is_woken_ = false;  // true: a call of OnWoken is pending
};

// Waits on one thread for events of file descriptors, with level-triggered epoll; each ready descriptor is handled once
// per round. Asio is not used, because its reactor needs an epoll_ctl and an allocation for each wait.
class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // If a round takes more than the period of Run plus this time, the part beyond the period is a pause, which the
  // loop's time leaves out. In a pause, the process was stopped (SIGSTOP, frozen control group), without processor
  // time, or busy with one round. The loop has read nothing in a pause, so clients must not count as slow or silent.
  static constexpr std::chrono::seconds kLongestRound{1};

  // `clock` must not go back; a test may pass another clock. UNAVAILABLE if no descriptor can be created.
  static absl::StatusOr<std::shared_ptr<EventLoop>> Make(Time (*clock)() = std::chrono::steady_clock::now);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs on the calling thread until Stop is called; calls `tick` every `period`.
  void Run(std::chrono::milliseconds period, const std::function<void()>& tick);
  // Makes Run return. Thread-safe.
  void Stop();
  // Queues `work` for the loop's thread. Work queued after Run has returned is dropped. Thread-safe.
  void Post(std::function<void()> work);
  bool IsThisThread() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // Returns the start time of the current round, without pauses (see kLongestRound). Call on the loop's thread.
  Time now() const { return now_; }
  // Returns the start time of the current round, including pauses. Use it for state that loops share, because each loop
  // has its own pauses.
  Time shared_now() const { return now_ + paused_; }

 private:
  friend class Watched;
  EventLoop(FileDescriptor epoll, FileDescriptor wake, Time (*clock)());
  void Add(std::shared_ptr<Watched> woken);
  void WakeUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunPosted();

  const FileDescriptor epoll_;
  const FileDescriptor wake_;  // eventfd that ends epoll_wait
  Time (*const clock_)();
  std::atomic<std::thread::id> thread_ = {};
  // Used only by the loop's thread:
  Time now_ = clock_();
  std::chrono::nanoseconds paused_{0};  // sum of the pauses that now_ does not include
  // objects closed in this round, which the event list may still refer to
  std::vector<std::shared_ptr<Watched>> closed_;
  std::vector<std::shared_ptr<Watched>> taken_;  // objects taken from woken_ in this round

  Mutex mutex_;
  std::vector<std::shared_ptr<Watched>> woken_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;     // true: Run has returned
  bool is_signalled_ ABSL_GUARDED_BY(mutex_) = false;  // true: wake_ was written and not yet read
  std::atomic<bool> stops_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_EVENT_LOOP_H_
