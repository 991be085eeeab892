// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

int PortOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

void SetPort(sockaddr* address, int port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
  }
}

// As people write it; IPv6 in brackets.
std::string TextOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  char host[NI_MAXHOST] = "?";
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
    getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  }
  return bound.ss_family == AF_INET6 ? absl::StrCat("[", host, "]:", PortOf(socket))
                                     : absl::StrCat(host, ":", PortOf(socket));
}

// A listening socket, or -1 with errno. Connections inherit its options.
int ListenOn(const addrinfo& where, bool both_families, absl::Duration unacknowledged) {
  const int made = socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const int yes = 1;
  const int only_v6 = both_families ? 0 : 1;
  const auto timeout = static_cast<unsigned>(absl::ToInt64Milliseconds(unacknowledged));
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  setsockopt(made, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
  if (where.ai_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  if (bind(made, where.ai_addr, where.ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0) return made;
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

absl::StatusOr<std::vector<int>> Resolve(const std::string& host, const std::string& port,
                                         absl::Duration unacknowledged) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
  absl::StatusOr<std::vector<int>> sockets = ListenOnAll(found, host == "::", unacknowledged);
  freeaddrinfo(found);
  return sockets;
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

absl::StatusOr<std::vector<int>> ListenOnAll(const addrinfo* addresses, bool both_families,
                                             absl::Duration unacknowledged) {
  std::vector<int> sockets;
  int error = 0;
  bool missing_only = true;
  for (const addrinfo* each = addresses; each != nullptr; each = each->ai_next) {
    if (!sockets.empty()) SetPort(each->ai_addr, PortOf(sockets.front()));
    const int listening = ListenOn(*each, both_families, unacknowledged);
    if (listening >= 0) {
      sockets.push_back(listening);
      continue;
    }
    error = errno;
    missing_only = error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
    if (!missing_only) break;
  }
  if (!sockets.empty() && missing_only) return sockets;
  for (const int other : sockets) close(other);
  return absl::UnavailableError(strerror(error));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address, absl::Duration unacknowledged) {
  const size_t colon = address.rfind(':');
  const std::string written = address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool bracketed = written.size() > 2 && written.front() == '[' && written.back() == ']';
  const std::string host = bracketed ? written.substr(1, written.size() - 2) : written;
  absl::StatusOr<std::vector<int>> sockets = Resolve(host, port, unacknowledged);
  if (!sockets.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, " for gRPC: ", std::string(sockets.status().message())));
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    const std::string reason = strerror(errno);
    for (const int listening : *sockets) close(listening);
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for gRPC: ", reason));
  }
  for (const int listening : *sockets) spdlog::info("bound {} for gRPC", TextOf(listening));
  const bool is_v6 = host.find(':') != std::string::npos;
  std::string bound = absl::StrCat(is_v6 ? "[" : "", host, is_v6 ? "]:" : ":", PortOf(sockets->front()));
  return std::unique_ptr<Listener>(new Listener(*std::move(sockets), wake, std::move(bound)));
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
