// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_LISTENER_H_
#define VITRINE_SERVER_WIRE_RPC_LISTENER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vitrine {

// Listens and accepts in gRPC's place. gRPC 1.51 stops accepting for good when accept() fails once, which it does when
// the process has run out of file descriptors. This listener turns connections away before that, keeps some descriptors
// for the rest of the process, and accepts again when there are free ones.
// One owner calls Start and Stop; address may be called from any thread.
class Listener {
 public:
  // Takes over the descriptor of a new connection, which does not block. Called on the listener's thread.
  using Take = std::function<void(int connection)>;

  // Binds host:port: see ListenOnTcp.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address, absl::Duration unacknowledged);
  // The same on a socket in the file system, which only this user (and root) may connect to: mode 0600 from its first
  // moment. One that a process left behind is replaced, one that somebody listens on is not; Stop removes it, unless it
  // is another one by then.
  // `address` is "unix:/PATH" or "unix:///PATH". UNAVAILABLE and why otherwise.
  static absl::StatusOr<std::unique_ptr<Listener>> OpenUnix(const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // host:port as bound; an IPv6 host stands in brackets. Of a unix socket "unix:///PATH".
  const std::string& address() const { return address_; }

  // `turned_away` hears of each connection that was closed at once; null: nobody does.
  void Start(Take take, std::function<void()> turned_away = nullptr);
  // Accepts no more and closes the port. `take` is not running after it returns. Idempotent.
  void Stop();

 private:
  // The file of a unix socket: its path, and which one was made there.
  struct SocketFile {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  Listener(std::vector<int> sockets, int wake, std::string address, std::optional<SocketFile> file = std::nullopt);
  void Run();
  // False if there was no descriptor for the next connection.
  bool AcceptWaiting(int socket);

  const int wake_;  // an eventfd that ends the thread
  const std::string address_;
  const std::optional<SocketFile> file_;  // of a unix socket
  std::vector<int> sockets_;              // constant while the thread runs
  Take take_;                             // constant while the thread runs
  std::function<void()> turned_away_;     // constant while the thread runs
  bool turning_away_ = false;             // touched by the thread alone
  std::thread thread_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_LISTENER_H_
