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

// A file descriptor watched by a loop. All functions except Wake run on the loop's thread. Owned by shared_ptr; the
// loop keeps a closed one alive until the end of its round.
class Watched : public std::enable_shared_from_this<Watched> {
 public:
  Watched(EventLoop& loop, FileDescriptor descriptor);
  virtual ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Sets the events that call OnReady. Level-triggered: OnReady is called again, after all others had their turn, while
  // the descriptor is ready.
  void Await(bool readable, bool writable);
  // Stops watching the descriptor until the next Await; otherwise a failed connection would call OnReady repeatedly.
  void Ignore();
  // Schedules one call of OnWoken, for any number of calls. Any thread.
  void Wake();

  EventLoop& loop() const { return *loop_; }
  bool is_closed() const { return !descriptor_.valid(); }

 protected:
  int descriptor() const { return descriptor_.get(); }
  void CloseDescriptor();

 private:
  friend class EventLoop;
  // `failed`: the connection has failed, or both directions are closed; readable and writable are true then.
  virtual void OnReady(bool readable, bool writable, bool failed) = 0;
  virtual void OnWoken() {}

  const std::shared_ptr<EventLoop> loop_;  // other threads may call Wake after the loop has ended
  FileDescriptor descriptor_;
  uint32_t events_ = 0;                 // events set in epoll
  bool is_added_ = false;               // registered in epoll
  std::atomic<bool> is_woken_ = false;  // OnWoken is pending
};

// Waits on one thread for events of file descriptors: level-triggered epoll with one turn per descriptor and round.
// (Asio's reactor needs an epoll_ctl and an allocation for each wait.)
class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // UNAVAILABLE if no descriptor can be created.
  static absl::StatusOr<std::shared_ptr<EventLoop>> Make();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs on the calling thread until Stop; calls `tick` every `period`.
  void Run(std::chrono::milliseconds period, const std::function<void()>& tick);
  // Makes Run return. Any thread.
  void Stop();
  // Queues `work` for the loop's thread; dropped after the end of Run. Any thread.
  void Post(std::function<void()> work);
  bool IsThisThread() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // Returns the start time of the present round. Loop's thread.
  Time now() const { return now_; }

 private:
  friend class Watched;
  EventLoop(FileDescriptor epoll, FileDescriptor wake);
  void Add(std::shared_ptr<Watched> woken);
  void WakeUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunPosted();

  const FileDescriptor epoll_;
  const FileDescriptor wake_;  // eventfd
  std::atomic<std::thread::id> thread_ = {};
  // Used only by the loop's thread:
  Time now_ = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Watched>> closed_;  // closed in this round; the event list may still refer to them
  std::vector<std::shared_ptr<Watched>> taken_;   // taken from woken_

  Mutex mutex_;
  std::vector<std::shared_ptr<Watched>> woken_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool is_signalled_ ABSL_GUARDED_BY(mutex_) = false;  // wake_ was written and not yet read
  std::atomic<bool> stops_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_EVENT_LOOP_H_
