// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_LOOP_H_
#define VITRINE_BASE_HTTP_LOOP_H_

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file/descriptor.h"
#include "base/http/connection.h"
#include "base/http/event_loop.h"

namespace vitrine {

// One thread of a server and the connections that belong to it.
class HttpLoop {
 public:
  // A connection that was accepted.
  struct Accepted {
    FileDescriptor socket;
    sockaddr_storage address = {};
    std::shared_ptr<AddressAccount> account = {};
    bool is_from_proxy = false;
  };

  // `most`: connections at once. UNAVAILABLE if the process has no descriptor left.
  static absl::StatusOr<std::unique_ptr<HttpLoop>> Make(std::shared_ptr<HttpCommon> common, size_t most);
  ~HttpLoop();

  // Starts the thread, which calls `on_tick` ten times a second. UNAVAILABLE if the system gives none.
  absl::Status Start(std::function<void()> on_tick);

  // Takes over a connection. Any thread.
  void Adopt(Accepted accepted);
  // Connections that it has, or will have adopted. Any thread.
  int64_t load() const { return load_.load(std::memory_order_relaxed); }

  // Calls `visit` for every connection, on the loop's thread, and returns when it is done. Not on the loop's thread.
  void Visit(const std::function<void(HttpConnection&)>& visit);
  // Asks every connection to end, waits at most `grace` for it, closes what is left and ends the thread. Idempotent.
  void End(absl::Duration grace);

  EventLoop& events() { return *events_; }
  // Closes a connection to make room: of those without a request the one of which nothing came for longest, else the
  // same of those that wait for a body. False if there is none. The loop's thread.
  bool CloseIdlest();

 private:
  HttpLoop(std::shared_ptr<HttpCommon> common, std::shared_ptr<EventLoop> events, size_t most);
  void AdoptHere(Accepted accepted);
  void Tick();
  void Forget(HttpConnection& connection);
  void KeepUnsentInBounds();
  void CloseAll();

  const std::shared_ptr<HttpCommon> common_;
  const std::shared_ptr<EventLoop> events_;
  const size_t most_;
  std::atomic<int64_t> load_ = 0;
  std::function<void()> on_tick_;
  // The thread alone:
  std::vector<char> scratch_;
  std::vector<std::shared_ptr<HttpConnection>> open_;
  EventLoop::Time ends_ = EventLoop::Time::max();  // when the rest is closed, once the server ends
  bool is_ending_ = false;

  std::thread thread_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_LOOP_H_
