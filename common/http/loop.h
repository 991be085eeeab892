// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_LOOP_H_
#define VITRINE_COMMON_HTTP_LOOP_H_

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file/descriptor.h"
#include "common/http/connection.h"
#include "common/http/event_loop.h"

namespace vitrine {

// One thread of a server and the connections that it handles.
class HttpLoop {
 public:
  // An accepted connection.
  struct Accepted {
    FileDescriptor socket;
    sockaddr_storage address = {};
    std::shared_ptr<AddressAccount> account = {};
    bool is_from_proxy = false;
  };

  // UNAVAILABLE if no descriptor can be created.
  static absl::StatusOr<std::unique_ptr<HttpLoop>> Make(std::shared_ptr<HttpCommon> common);
  // Calls StartEnding with a grace of zero, then Join.
  ~HttpLoop();

  // Starts the thread, which calls `on_tick` ten times per second. UNAVAILABLE if no thread can be created.
  absl::Status Start(std::function<void()> on_tick);

  // Takes over a connection. Thread-safe.
  void Adopt(Accepted accepted);
  // Returns the number of the loop's connections, including the connections that are being added. Thread-safe.
  int64_t load() const { return load_.load(std::memory_order_relaxed); }

  // Makes the loop's thread call `visit` for every connection. Returns a future that is ready after the last call.
  // After the end of the loop, makes no call, and the future is ready. Do not wait for the future on the loop's thread,
  // or before Start.
  std::future<void> Visit(std::function<void(HttpConnection&)> visit);
  // Asks every connection to end, and returns at once. After at most `grace`, the thread closes the remaining
  // connections and ends.
  void StartEnding(absl::Duration grace);
  // Waits until the thread has ended. Idempotent.
  void Join();

  EventLoop& events() { return *events_; }
  // Closes the connection that has been silent for the longest time, to free its descriptor. Chooses among connections
  // without a request; if there are none, among connections that wait for a body. Returns false if there is neither.
  // Call on the loop's thread.
  bool CloseIdlest();

 private:
  HttpLoop(std::shared_ptr<HttpCommon> common, std::shared_ptr<EventLoop> events);
  void AdoptHere(Accepted accepted);
  void Tick();
  void Forget(HttpConnection& connection);
  void KeepUnsentInBounds();
  void CloseAll();

  const std::shared_ptr<HttpCommon> common_;
  const std::shared_ptr<EventLoop> events_;
  std::atomic<int64_t> load_ = 0;
  std::function<void()> on_tick_;
  // Used only on the loop's thread:
  std::vector<char> scratch_;
  std::vector<std::shared_ptr<HttpConnection>> open_;
  EventLoop::Time ends_ = EventLoop::Time::max();  // time at which shutdown closes the remaining connections
  bool is_ending_ = false;

  std::thread thread_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_LOOP_H_
