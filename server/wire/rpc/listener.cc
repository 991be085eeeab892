// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/listener.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/tcp_listen.h"

namespace vitrine {
namespace {

// Descriptors that connections leave to the metrics page, the repository and the log; a quarter where the limit is low.
constexpr int64_t kReserved = 64;
// How long to wait when there is no descriptor left at all.
constexpr int kRetryMilliseconds = 50;

int64_t MostConnections() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  const auto most = static_cast<int64_t>(limit.rlim_cur);
  return most - std::min(kReserved, most / 4);
}

// Whether somebody accepts connections on the socket at this path.
bool IsAlive(const sockaddr_un& where) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;
  const bool refused = connect(probe, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 &&
                       (errno == ECONNREFUSED || errno == ENOENT);
  close(probe);
  return !refused;
}

// A listening socket, or -1 with errno.
int ListenOnPath(const sockaddr_un& where) {
  struct stat there = {};
  if (lstat(where.sun_path, &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      errno = EEXIST;
      return -1;
    }
    if (IsAlive(where)) {
      errno = EADDRINUSE;
      return -1;
    }
    unlink(where.sun_path);
  }
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  // Linux makes the file with the mode that the socket has when it is bound.
  if (fchmod(made, S_IRUSR | S_IWUSR) == 0 &&
      bind(made, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0 && listen(made, SOMAXCONN) == 0) {
    return made;
  }
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address, absl::Duration unacknowledged) {
  ASSIGN_OR_RETURN(TcpListening listening, ListenOnTcp(address, "gRPC", unacknowledged));
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    const std::string reason = strerror(errno);
    for (const int each : listening.sockets) close(each);
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for gRPC: ", reason));
  }
  for (const int each : listening.sockets) spdlog::info("bound {} for gRPC", BoundAddress(each));
  return std::unique_ptr<Listener>(new Listener(std::move(listening.sockets), wake, std::move(listening.address)));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::OpenUnix(const std::string& address) {
  std::string path = address.substr(std::string("unix:").size());
  if (path.starts_with("///")) path = path.substr(2);
  const auto unavailable = [&](const std::string& reason) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for gRPC: ", reason));
  };
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(where.sun_path)) {
    return unavailable(absl::StrCat("a path has 1 to ", sizeof(where.sun_path) - 1, " bytes"));
  }
  path.copy(where.sun_path, path.size());
  const int listening = ListenOnPath(where);
  if (listening < 0) return unavailable(strerror(errno));
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    const std::string reason = strerror(errno);
    close(listening);
    unlink(path.c_str());
    return unavailable(reason);
  }
  spdlog::info("bound {} for gRPC", address);
  struct stat made = {};
  (void)lstat(path.c_str(), &made);
  return std::unique_ptr<Listener>(
      new Listener({listening}, wake, absl::StrCat("unix://", path), SocketFile{path, made.st_dev, made.st_ino}));
}

Listener::Listener(std::vector<int> sockets, int wake, std::string address, std::optional<SocketFile> file)
    : wake_(wake), address_(std::move(address)), file_(std::move(file)), sockets_(std::move(sockets)) {}

Listener::~Listener() {
  Stop();
  close(wake_);
}

void Listener::Start(Take take, std::function<void()> turned_away) {
  take_ = std::move(take);
  turned_away_ = std::move(turned_away);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
    thread_.join();
  }
  // While it still listens: from the moment that it does not, a successor may have put its own there.
  if (file_.has_value() && !sockets_.empty()) {
    struct stat there = {};
    const bool ours =
        lstat(file_->path.c_str(), &there) == 0 && there.st_dev == file_->device && there.st_ino == file_->inode;
    if (ours) unlink(file_->path.c_str());
  }
  for (const int listening : sockets_) close(listening);
  sockets_.clear();
}

void Listener::Run() {
  pthread_setname_np(pthread_self(), "listener");
  std::vector<pollfd> waiting = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const int listening : sockets_) waiting.push_back({.fd = listening, .events = POLLIN, .revents = 0});
  for (;;) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) return;
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0 || AcceptWaiting(waiting[i].fd)) continue;
      // The connection stays in the kernel's queue, which would wake poll at once.
      if (poll(waiting.data(), 1, kRetryMilliseconds) > 0) return;
    }
  }
}

bool Listener::AcceptWaiting(int socket) {
  for (;;) {
    const int connection = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    // The lowest free number: it is high only when nearly all are taken.
    const bool turn_away = connection >= MostConnections();
    if (turn_away) {
      close(connection);
      if (turned_away_) turned_away_();
    } else {
      take_(connection);
    }
    if (std::exchange(turning_away_, turn_away) != turn_away) {
      spdlog::warn(turn_away ? "connections are turned away: the process has nearly run out of file descriptors"
                             : "connections are taken again");
    }
  }
}

}  // namespace vitrine
