// SPDX-License-Identifier: Apache-2.0
#include "models/repository/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"

namespace vitrine {
namespace {

constexpr char kPrefix[] = ".tmp-";
constexpr char kSweptPrefix[] = ".tmp-swept-";
constexpr int64_t kAbandonedAfterSeconds = 24 * 3600;

// Takes a lock that lasts until `folder` is closed. Returns false if another process has the lock, or the file system
// has no locks.
bool Lock(const FileDescriptor& folder, int operation) {
  int result = 0;
  do {
    result = flock(folder.get(), operation);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

FileDescriptor OpenEntry(const FileDescriptor& parent, const std::string& name) {
  return FileDescriptor(openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Removes the folder and its files. Ignores errors, because a later publisher removes the rest.
void RemoveFolder(const FileDescriptor& parent, const std::string& name, const FileDescriptor& folder) {
  std::vector<std::string> files;
  ForEachEntry(folder, [&](const std::string& file) { files.push_back(file); }).IgnoreError();
  for (const std::string& file : files) unlinkat(folder.get(), file.c_str(), 0);
  unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

std::string RandomName(const char* prefix) {
  uint64_t random = 0;
  // No signal interrupts getrandom for up to 256 bytes. If getrandom fails for another reason, the process ID replaces
  // the random number. If the name is then taken, mkdirat fails.
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = static_cast<uint64_t>(getpid());
  return absl::StrCat(prefix, getpid(), "-", absl::Hex(random, absl::kZeroPad16));
}

// Returns true if no file was created in `folder` for a day before `fresh` was created. Both times come from the file
// system's clock.
bool IsAbandoned(const FileDescriptor& folder, const FileDescriptor& fresh) {
  struct stat folder_state, fresh_state;
  return fstat(folder.get(), &folder_state) == 0 && fstat(fresh.get(), &fresh_state) == 0 &&
         fresh_state.st_mtime - folder_state.st_mtime > kAbandonedAfterSeconds;
}

// Removes temporary folders of dead processes: folders that are unlocked and a day older than `fresh`. The age is
// checked because some network file systems do not show locks of other machines. Renames each folder before removing
// it; the rename fails if the folder's owner has just renamed the folder to a version.
void Sweep(const FileDescriptor& parent, const FileDescriptor& fresh) {
  std::vector<std::string> names;
  ForEachEntry(parent, [&](const std::string& name) {
    if (absl::StartsWith(name, kPrefix)) names.push_back(name);
  }).IgnoreError();
  for (const std::string& name : names) {
    const FileDescriptor folder = OpenEntry(parent, name);
    if (!folder.valid() || !IsAbandoned(folder, fresh) || !Lock(folder, LOCK_EX | LOCK_NB)) continue;
    const std::string swept = RandomName(kSweptPrefix);
    if (renameat(parent.get(), name.c_str(), parent.get(), swept.c_str()) == 0) RemoveFolder(parent, swept, folder);
  }
}

}  // namespace

absl::Status SyncToDisk(const FileDescriptor& file, const std::string& what) {
  if (fsync(file.get()) != 0) return FileError(errno, what);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Create(const FileDescriptor& parent) {
  // Between mkdir and flock the new folder is unlocked, like the folder of a dead process. A lock on the parent keeps
  // other publishers from running Sweep during this time.
  const FileDescriptor guard(openat(parent.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!guard.valid()) return FileError(errno, "the model's folder");
  const bool locks = Lock(guard, LOCK_EX);

  std::unique_ptr<TemporaryFolder> folder(new TemporaryFolder(parent, RandomName(kPrefix)));
  if (mkdirat(parent.get(), folder->name_.c_str(), 0777) != 0) {
    folder->moved_ = true;  // there is nothing to remove
    return FileError(errno, "the temporary folder");
  }
  folder->folder_ = OpenEntry(parent, folder->name_);
  if (!folder->folder_.valid()) return FileError(errno, "the temporary folder");
  Lock(folder->folder_, LOCK_EX | LOCK_NB);
  if (locks) Sweep(parent, folder->folder_);
  return folder;
}

TemporaryFolder::~TemporaryFolder() {
  if (moved_) return;
  if (folder_.valid()) {
    RemoveFolder(parent_, name_, folder_);
  } else {
    unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
  }
}

absl::Status TemporaryFolder::Write(const std::string& name, std::string_view bytes) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const FileDescriptor file(openat(folder_.get(), name.c_str(), flags, 0666));
  if (!file.valid()) return FileError(errno, name);
  while (!bytes.empty()) {
    const ssize_t count = write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, name);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return SyncToDisk(file, name);
}

absl::Status TemporaryFolder::Link(const FileDescriptor& from, const std::string& name) {
  if (linkat(from.get(), name.c_str(), folder_.get(), name.c_str(), 0) == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileBeneath(from, name, kMaxFileBytes));
  return Write(name, bytes);
}

absl::Status TemporaryFolder::ReplaceBeside(const std::string& name, std::string_view bytes) {
  RETURN_IF_ERROR(Write(name, bytes));
  if (renameat(folder_.get(), name.c_str(), parent_.get(), name.c_str()) != 0) return FileError(errno, name);
  return absl::OkStatus();
}

absl::Status TemporaryFolder::TakeIn(const std::string& name) {
  if (renameat(parent_.get(), name.c_str(), parent_.get(), name_.c_str()) != 0) return FileError(errno, name);
  folder_ = OpenEntry(parent_, name_);
  return folder_.valid() ? absl::OkStatus() : FileError(errno, name);
}

absl::Status TemporaryFolder::Sync() {
  return SyncToDisk(folder_, "the temporary folder");
}

absl::Status TemporaryFolder::MoveTo(const std::string& name) {
  const int from = parent_.get();
  long result = syscall(SYS_renameat2, from, name_.c_str(), from, name.c_str(), RENAME_NOREPLACE);
  // Some network file systems do not support RENAME_NOREPLACE. A plain rename is safe too: it never replaces a folder
  // that has files.
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) result = renameat(from, name_.c_str(), from, name.c_str());
  if (result != 0) {
    if (errno == EEXIST || errno == ENOTEMPTY) return absl::AlreadyExistsError(absl::StrCat(name, " exists"));
    return FileError(errno, "rename");
  }
  moved_ = true;
  return absl::OkStatus();
}

}  // namespace vitrine
