// SPDX-License-Identifier: Apache-2.0
#include "server/identity/guarded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr size_t kMostBytes = 1 << 20;

absl::Status Unreadable(const std::string& name, int error) {
  const std::string sentence = absl::StrCat(name, " cannot be read: ", absl::AsciiStrToLower(strerror(error)));
  return error == EACCES || error == EPERM ? absl::PermissionDeniedError(sentence) : absl::NotFoundError(sentence);
}

absl::Status CheckMode(const std::string& name, const std::string& path, const struct stat& file, Guard guard) {
  if (!S_ISREG(file.st_mode)) return absl::InvalidArgumentError(absl::StrCat(name, " is not a regular file"));
  if (guard == Guard::kNoOtherReaders && (file.st_mode & S_IRWXO) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " may be read by every user of this machine; chmod o-rwx ", path));
  }
  if ((file.st_mode & S_IWOTH) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " may be written by every user of this machine; chmod o-w ", path));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadGuardedFile(const std::string& setting, const std::string& path, Guard guard,
                                            Emptiness emptiness) {
  const std::string name = absl::StrCat(setting, " ", path);
  // O_NONBLOCK: opening a named pipe must not block the server's start.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Unreadable(name, errno);
  const absl::Cleanup closer = [file] { close(file); };
  struct stat status = {};
  if (fstat(file, &status) != 0) return Unreadable(name, errno);
  if (const absl::Status mode = CheckMode(name, path, status, guard); !mode.ok()) return mode;
  std::string bytes(kMostBytes + 1, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Unreadable(name, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size == 0 && emptiness == Emptiness::kIsAnError) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is empty"));
  }
  if (size > kMostBytes) return absl::InvalidArgumentError(absl::StrCat(name, " is larger than 1 MiB"));
  bytes.resize(size);
  return bytes;
}

}  // namespace vitrine
