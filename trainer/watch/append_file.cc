// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

absl::Status WriteAt(const FileDescriptor& file, const std::filesystem::path& path, std::string_view bytes,
                     int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file.get(), bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, path.string());
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AppendFile> AppendFile::Create(const std::filesystem::path& path, std::string_view content) {
  AppendFile file(path);
  RETURN_IF_ERROR(file.Rewrite(content));
  return file;
}

absl::Status AppendFile::Append(std::string_view bytes) {
  pending_ += bytes;
  const absl::Status written = WriteAt(file_, path_, pending_, size_);
  if (!written.ok()) {
    (void)!ftruncate(file_.get(), size_);
    return written;
  }
  size_ += static_cast<int64_t>(pending_.size());
  pending_.clear();
  return absl::OkStatus();
}

absl::Status AppendFile::Rewrite(std::string_view bytes) {
  RETURN_IF_ERROR(ReplaceFile(path_, bytes));
  FileDescriptor file(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return FileError(errno, path_.string());
  file_ = std::move(file);
  size_ = static_cast<int64_t>(bytes.size());
  pending_.clear();
  return absl::OkStatus();
}

}  // namespace vitrine
