// SPDX-License-Identifier: Apache-2.0
#include "base/http/event_loop.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <new>
#include <utility>

namespace vitrine {

namespace asio = boost::asio;

// Room for one wait of one descriptor, so that to wait takes no memory, which may have run out.
class WaitRoom {
 public:
  void* Take(size_t bytes) {
    if (taken_ || bytes > sizeof(room_)) return ::operator new(bytes);
    taken_ = true;
    return room_;
  }
  void GiveBack(void* place) {
    if (place != room_) return ::operator delete(place);
    taken_ = false;
  }

 private:
  alignas(std::max_align_t) std::byte room_[256];
  bool taken_ = false;
};

template <typename T>
struct WaitAllocator {
  using value_type = T;
  explicit WaitAllocator(WaitRoom* of) : room(of) {}
  template <typename Other>
  WaitAllocator(const WaitAllocator<Other>& other) : room(other.room) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) { return static_cast<T*>(room->Take(count * sizeof(T))); }
  void deallocate(T* place, size_t) { room->GiveBack(place); }
  template <typename Other>
  bool operator==(const WaitAllocator<Other>& other) const {
    return room == other.room;
  }

  WaitRoom* room;
};

template <>
struct WaitAllocator<void> {
  using value_type = void;
  explicit WaitAllocator(WaitRoom* of) : room(of) {}
  template <typename Other>
  WaitAllocator(const WaitAllocator<Other>& other) : room(other.room) {}  // NOLINT(google-explicit-constructor)
  template <typename Other>
  bool operator==(const WaitAllocator<Other>& other) const {
    return room == other.room;
  }
  WaitRoom* room;
};

// What Asio calls when a wait ends: `ready` unless it was given up.
template <typename Ready>
struct WaitEnds {
  using allocator_type = WaitAllocator<void>;
  allocator_type get_allocator() const { return allocator_type(room); }
  void operator()(const boost::system::error_code& error) { ready(error); }

  WaitRoom* room;
  Ready ready;
};

struct EventLoop::Reactor {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> goes_on = asio::make_work_guard(context);
};

EventLoop::EventLoop() : reactor_(std::make_unique<Reactor>()) {}

EventLoop::~EventLoop() = default;

void EventLoop::Run(const std::function<Time()>& next, const std::function<void()>& tick) {
  asio::io_context& context = reactor_->context;
  while (!context.stopped()) {
    context.run_one_until(next());
    if (std::chrono::steady_clock::now() >= next()) tick();
  }
}

void EventLoop::Stop() {
  reactor_->context.stop();
}

struct Watched::Waits {
  explicit Waits(EventLoop& loop) : descriptor(loop.reactor_->context) {}

  asio::posix::basic_stream_descriptor<asio::io_context::executor_type> descriptor;
  bool read = false;  // is awaited
  bool write = false;
  WaitRoom read_room, write_room;
};

Watched::Watched(EventLoop& loop) : waits_(std::make_unique<Waits>(loop)) {}

void Watched::Watch(FileDescriptor& descriptor) {
  waits_->descriptor.assign(descriptor.get());
  descriptor.Release();
}

Watched::~Watched() = default;

int Watched::descriptor() const {
  return waits_->descriptor.native_handle();
}

bool Watched::is_closed() const {
  return !waits_->descriptor.is_open();
}

void Watched::CloseDescriptor() {
  boost::system::error_code ignored;
  waits_->descriptor.close(ignored);
}

void Watched::AwaitReadable() {
  if (is_closed() || std::exchange(waits_->read, true)) return;
  auto ready = [self = shared_from_this()](const boost::system::error_code& error) {
    self->waits_->read = false;
    if (error != asio::error::operation_aborted && !self->is_closed()) self->OnReady();
  };
  waits_->descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                WaitEnds<decltype(ready)>{&waits_->read_room, std::move(ready)});
}

void Watched::AwaitWritable() {
  if (is_closed() || std::exchange(waits_->write, true)) return;
  auto ready = [self = shared_from_this()](const boost::system::error_code& error) {
    self->waits_->write = false;
    if (error != asio::error::operation_aborted && !self->is_closed()) self->OnReady();
  };
  waits_->descriptor.async_wait(asio::posix::descriptor_base::wait_write,
                                WaitEnds<decltype(ready)>{&waits_->write_room, std::move(ready)});
}

}  // namespace vitrine
