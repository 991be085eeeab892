// SPDX-License-Identifier: Apache-2.0
#include "trainer/work_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

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

absl::Status CannotBeWritten(const std::filesystem::path& path, const std::string& reason) {
  return absl::FailedPreconditionError(absl::StrCat(path.string(), " cannot be written: ", reason));
}

}  // namespace

absl::StatusOr<WorkLock> WorkLock::Take(const std::filesystem::path& work_dir) {
  std::error_code error;
  std::filesystem::create_directories(work_dir, error);
  if (error) return CannotBeWritten(work_dir, error.message());
  const std::filesystem::path path = work_dir / "lock";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.valid()) return CannotBeWritten(path, std::strerror(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    std::ifstream in(path);
    std::string holder;
    std::getline(in, holder);
    return absl::FailedPreconditionError(absl::StrCat("another training runs in ", work_dir.string(), ": ",
                                                      holder.empty() ? "an unknown process" : holder,
                                                      "; wait until it ends, or give another folder (--work)"));
  }
  const std::string holder = ThisProcess() + "\n";
  if (ftruncate(file.get(), 0) != 0 ||
      pwrite(file.get(), holder.data(), holder.size(), 0) != static_cast<ssize_t>(holder.size())) {
    return CannotBeWritten(path, std::strerror(errno));
  }
  return WorkLock(std::move(file));
}

}  // namespace vitrine
