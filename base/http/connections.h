// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_CONNECTIONS_H_
#define VITRINE_BASE_HTTP_CONNECTIONS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file/descriptor.h"
#include "base/http/connection.h"
#include "base/http/event_loop.h"
#include "base/http/tls.h"
#include "base/mutex.h"

namespace vitrine {

// All connections of one server, on one thread, which accepts them and ends the phases that take too long. Where memory
// runs out the connection that needed it is answered so, or waits to be accepted; the others go on.
class HttpConnections {
 public:
  struct Limits {
    size_t most;          // connections; beyond it the idlest is closed
    size_t unsent_bytes;  // of answers that clients do not take; beyond it the first of them is given up
  };
  // What a new connection speaks; null: plaintext. Called on the loop's thread; may throw std::bad_alloc.
  using Tls = std::function<std::shared_ptr<const TlsContext>()>;

  // Runs the thread; see HttpServerOptions.
  using OnThread = std::function<void(const std::function<void()>&)>;

  // Takes over the listening sockets, which do not block. `common` gets its callbacks here, and outlives the object.
  // UNAVAILABLE if the process has no descriptor left.
  static absl::StatusOr<std::unique_ptr<HttpConnections>> Open(std::vector<FileDescriptor> listening,
                                                               const Limits& limits, Tls tls, OnThread on_thread,
                                                               HttpCommon& common);
  // Waits for the answers under way; bodies that have not come are not waited for, and clients that do not take their
  // answers for a second at most.
  ~HttpConnections();

  // Begins to accept. Once.
  void Start();

 private:
  class Listening;
  class WakeUp;

  HttpConnections(const Limits& limits, Tls tls, OnThread on_thread, HttpCommon& common);
  void Run();
  void Tick();
  void TickBy(EventLoop::Time moment);
  void TakeReplies();
  void AcceptWaiting(Listening& listening);
  // False, and then it is kept in waiting_, if memory is lacking.
  bool Adopt();
  // To make room: the one of which nothing came for longest, or whose body has not come for longest.
  void CloseIdlest();
  void KeepUnsentInBounds();
  void Forget(HttpConnection& connection);
  void End();

  const Limits limits_;
  const Tls tls_;
  const OnThread on_thread_;
  HttpCommon& common_;
  EventLoop loop_;
  std::shared_ptr<WakeUp> wake_;
  // Touched by the thread alone once it runs.
  std::vector<std::shared_ptr<Listening>> listening_;
  std::vector<std::shared_ptr<HttpConnection>> open_;  // room for all is made at the start
  // The connection that is being accepted, and waits for memory where there was none.
  struct {
    FileDescriptor socket;
    sockaddr_storage address = {};
    socklen_t address_bytes = 0;
  } waiting_;
  EventLoop::Time next_tick_ = {};
  EventLoop::Time accept_again_ = {};  // no descriptor or memory is left until then; zero: there is
  EventLoop::Time ends_ = {};          // when answers are given up; zero: the server goes on

  Mutex mutex_;
  std::vector<std::shared_ptr<HttpConnection>> replied_ ABSL_GUARDED_BY(mutex_);  // likewise
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<HttpConnection>> taken_;  // out of replied_; the thread alone
  std::thread thread_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_CONNECTIONS_H_
