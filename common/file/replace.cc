// SPDX-License-Identifier: Apache-2.0
#include "common/file/replace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/file/descriptor.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

absl::Status WriteAll(const FileDescriptor& file, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FileError(errno, path.string());
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  if (fsync(file.get()) != 0) return FileError(errno, path.string());
  return absl::OkStatus();
}

// Syncs a staged file. Needed if a std::ofstream wrote the file, because closing the stream does not sync the file.
absl::Status Sync(const std::filesystem::path& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || fsync(file.get()) != 0) return FileError(errno, path.string());
  return absl::OkStatus();
}

}  // namespace

std::filesystem::path StagedPath(const std::filesystem::path& path) {
  return path.string() + ".new";
}

absl::Status StageFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  const std::filesystem::path staged = StagedPath(path);
  DropStaged(path);  // a leftover may have another mode, or be a link
  const FileDescriptor file(open(staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.valid()) return FileError(errno, staged.string());
  const absl::Status written = WriteAll(file, bytes, staged);
  if (!written.ok()) DropStaged(path);
  return written;
}

absl::Status CommitFile(const std::filesystem::path& path) {
  const std::filesystem::path staged = StagedPath(path);
  absl::Status committed = Sync(staged);
  if (committed.ok() && rename(staged.c_str(), path.c_str()) != 0) committed = FileError(errno, path.string());
  if (!committed.ok()) {
    DropStaged(path);
    return committed;
  }
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const FileDescriptor folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Errors are ignored: the new file is in place, and only the sync of its name failed.
  if (folder.valid()) fsync(folder.get());
  return absl::OkStatus();
}

void DropStaged(const std::filesystem::path& path) {
  unlink(StagedPath(path).c_str());
}

absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  RETURN_IF_ERROR(StageFile(path, bytes, mode));
  return CommitFile(path);
}

}  // namespace vitrine
