// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_APPEND_FILE_H_
#define VITRINE_TRAINER_WATCH_APPEND_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file/descriptor.h"

namespace vitrine {

// A file that grows at its end while others read it. Appended bytes are written to the kernel at once, so they are not
// lost if this process dies. Not thread-safe.
class AppendFile {
 public:
  // Creates or atomically replaces the file with this content, so a reader sees the old or the new content. Returns
  // FileError's errors, which name the file.
  static absl::StatusOr<AppendFile> Create(const std::filesystem::path& path, std::string_view content);

  // Appends all bytes or no bytes. After an error, for example on a full disk, truncates the file to its previous size
  // and keeps the bytes for the next call.
  absl::Status Append(std::string_view bytes);
  // Replaces the whole content, like Create.
  absl::Status Rewrite(std::string_view bytes);

 private:
  explicit AppendFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  FileDescriptor file_;
  int64_t size_ = 0;     // bytes written
  std::string pending_;  // bytes of a failed call, which the next call writes first
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_APPEND_FILE_H_
