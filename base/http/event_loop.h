// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_EVENT_LOOP_H_
#define VITRINE_BASE_HTTP_EVENT_LOOP_H_

#include <chrono>
#include <functional>
#include <memory>

#include "base/file/descriptor.h"

namespace vitrine {

// Waits on one thread for descriptors and for moments: Asio's reactor, which only this file's source knows.
class EventLoop {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Throws what Asio does where the process has no descriptor or memory left.
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Until Stop. `tick` is called when the moment has come that `next` returns, on this thread as all else. Neither may
  // throw.
  void Run(const std::function<Time()>& next, const std::function<void()>& tick);
  // From within Run.
  void Stop();

 private:
  friend class Watched;
  struct Reactor;
  const std::unique_ptr<Reactor> reactor_;
};

// One descriptor that a loop watches. Everything happens on the loop's thread. Lives in a shared_ptr, which the loop
// keeps while it waits.
class Watched : public std::enable_shared_from_this<Watched> {
 public:
  explicit Watched(EventLoop& loop);
  virtual ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Takes the descriptor over, once. Throws std::bad_alloc, or std::system_error where the system watches no more, and
  // then leaves it.
  void Watch(FileDescriptor& descriptor);

  // OnReady follows once, when something can be read (or the other side is gone), or written. That takes no memory.
  void AwaitReadable();
  void AwaitWritable();

 protected:
  int descriptor() const;
  bool is_closed() const;
  // Nothing is awaited any more.
  void CloseDescriptor();

 private:
  // Must not throw.
  virtual void OnReady() = 0;

  struct Waits;
  const std::unique_ptr<Waits> waits_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_EVENT_LOOP_H_
