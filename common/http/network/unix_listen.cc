// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/unix_listen.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Returns true if a process listens on the socket at this path, or if this cannot be checked.
bool IsAlive(const sockaddr_un& where) {
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return true;
  const bool refused = connect(probe.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 &&
                       (errno == ECONNREFUSED || errno == ENOENT);
  return !refused;
}

// Returns a listening socket. On failure returns an invalid descriptor and sets errno.
FileDescriptor ListenOnPath(const sockaddr_un& where) {
  struct stat there = {};
  if (lstat(where.sun_path, &there) == 0) {
    if (!S_ISSOCK(there.st_mode) || IsAlive(where)) {
      errno = S_ISSOCK(there.st_mode) ? EADDRINUSE : EEXIST;
      return FileDescriptor();
    }
    unlink(where.sun_path);
  }
  FileDescriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // On Linux the file gets the mode that the socket has when bind is called.
  if (made.valid() && fchmod(made.get(), S_IRUSR | S_IWUSR) == 0 &&
      bind(made.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0 &&
      listen(made.get(), SOMAXCONN) == 0) {
    return made;
  }
  const int error = errno;
  made = FileDescriptor();
  errno = error;
  return FileDescriptor();
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListening>> UnixListening::Open(const std::string& address,
                                                                   const std::string& purpose) {
  std::string path = address.substr(std::string("unix:").size());
  if (path.starts_with("///")) path = path.substr(2);
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  std::string reason = absl::StrCat("a path has 1 to ", sizeof(where.sun_path) - 1, " bytes");
  FileDescriptor socket;
  if (!path.empty() && path.size() < sizeof(where.sun_path)) {
    path.copy(where.sun_path, path.size());
    socket = ListenOnPath(where);
    reason = strerror(errno);
  }
  if (!socket.valid()) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, " for ", purpose, ": ", reason));
  }
  return std::unique_ptr<UnixListening>(new UnixListening(std::move(socket), std::move(path)));
}

UnixListening::UnixListening(FileDescriptor socket, std::string path)
    : socket_(std::move(socket)), path_(std::move(path)), address_(absl::StrCat("unix://", path_)) {
  struct stat made = {};
  (void)lstat(path_.c_str(), &made);
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

UnixListening::~UnixListening() {
  Unlink();
}

void UnixListening::Unlink() {
  if (std::exchange(is_unlinked_, true)) return;
  struct stat there = {};
  const bool ours = lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_;
  if (ours) unlink(path_.c_str());
}

}  // namespace vitrine
