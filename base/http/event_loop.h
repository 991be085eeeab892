// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_EVENT_LOOP_H_
#define VITRINE_BASE_HTTP_EVENT_LOOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file/descriptor.h"
#include "base/mutex.h"

namespace vitrine {

class EventLoop;

// A file descriptor that a loop watches. Every function but Wake is called on the loop's thread. Owned by shared_ptr;
// one that is closed while the loop works lives until the loop has gone round.
class Watched : public std::enable_shared_from_this<Watched> {
 public:
  Watched(EventLoop& loop, FileDescriptor descriptor);
  virtual ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Chooses which events call OnReady, until it is called again. Events are level-triggered: OnReady comes again, after
  // all others had their turn, while there is more to read or room to write.
  void Await(bool readable, bool writable);
  // Ignores the descriptor altogether, until Await: else a failure calls OnReady again and again.
  void Ignore();
  // Calls OnWoken soon, once for any number of calls. Any thread.
  void Wake();

  EventLoop& loop() const { return *loop_; }
  bool is_closed() const { return !descriptor_.valid(); }

 protected:
  int descriptor() const { return descriptor_.get(); }
  void CloseDescriptor();

 private:
  friend class EventLoop;
  // `failed`: the other side has closed both directions, or the connection has failed; readable and writable are true
  // then.
  virtual void OnReady(bool readable, bool writable, bool failed) = 0;
  virtual void OnWoken() {}

  const std::shared_ptr<EventLoop> loop_;  // others may call Wake when the loop has ended
  FileDescriptor descriptor_;
  uint32_t events_ = 0;                 // that epoll waits for
  bool is_added_ = false;               // to epoll
  std::atomic<bool> is_woken_ = false;  // OnWoken is to come
};

// Waits on one thread for the events of file descriptors: level-triggered epoll, which gives each descriptor one turn
// in a round. (Asio's reactor takes an epoll_ctl and an allocation for each wait.)
class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // UNAVAILABLE if the process has no descriptor left.
  static absl::StatusOr<std::shared_ptr<EventLoop>> Make();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs until Stop on the calling thread, and calls `tick` every `period`.
  void Run(std::chrono::milliseconds period, const std::function<void()>& tick);
  // Makes Run return. Any thread.
  void Stop();
  // Calls `work` on the loop's thread, soon; never after the end of Run. Any thread.
  void Post(std::function<void()> work);
  bool IsThisThread() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // When the present round began. The loop's thread.
  Time now() const { return now_; }

 private:
  friend class Watched;
  EventLoop(FileDescriptor epoll, FileDescriptor wake);
  void Add(std::shared_ptr<Watched> woken);
  void WakeUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunPosted();

  const FileDescriptor epoll_;
  const FileDescriptor wake_;  // an eventfd
  std::atomic<std::thread::id> thread_ = {};
  // The loop's thread alone:
  Time now_ = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Watched>> closed_;  // in this round, whose events may still be in its list
  std::vector<std::shared_ptr<Watched>> taken_;   // out of woken_

  Mutex mutex_;
  std::vector<std::shared_ptr<Watched>> woken_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool is_signalled_ ABSL_GUARDED_BY(mutex_) = false;  // wake_ was written and not read yet
  std::atomic<bool> stops_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_EVENT_LOOP_H_
