// SPDX-License-Identifier: Apache-2.0
#include "common/file/write.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file/descriptor.h"

namespace vitrine {

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file.is_open()) return FileError(errno, absl::StrCat("cannot write ", path));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return absl::OkStatus();
  const int error = errno;
  std::error_code ignored;
  // A device or a pipe is not removed.
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored))) {
    std::filesystem::remove(path, ignored);
  }
  return FileError(error, absl::StrCat("cannot write ", path));
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace vitrine
