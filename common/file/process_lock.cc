// SPDX-License-Identifier: Apache-2.0
#include "common/file/process_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace vitrine {
namespace {

std::string ThisProcess() {
  char host[256] = "unknown";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat("process ", getpid(), " on ", host, ", since ",
                      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::Now(), absl::UTCTimeZone()));
}

}  // namespace

absl::StatusOr<FileDescriptor> LockForProcess(const std::filesystem::path& path) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.valid() && errno == EACCES) {  // another user owns the file; a lock needs no write permission
    file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    errno = EACCES;
  }
  if (!file.valid()) return FileError(errno, path.string());
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return absl::UnimplementedError(absl::StrCat(path.string(), " cannot be locked: ", std::strerror(errno)));
    }
    std::ifstream in(path);
    std::string holder;
    std::getline(in, holder);
    return absl::AlreadyExistsError(holder.empty() ? "an unknown process" : holder);
  }
  const std::string holder = ThisProcess() + "\n";
  // A failed write, for example on a full disk, is ignored: the lock does not depend on the file's text.
  [[maybe_unused]] const bool written =
      ftruncate(file.get(), 0) == 0 && pwrite(file.get(), holder.data(), holder.size(), 0) > 0;
  return file;
}

}  // namespace vitrine
