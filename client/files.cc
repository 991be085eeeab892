// SPDX-License-Identifier: Apache-2.0
#include "client/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vitrine {

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, std::string_view bytes) {
  const std::string temporary = absl::StrCat(path, ".new");
  RETURN_IF_ERROR(WriteFile(temporary, bytes));
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int why = errno;
  std::remove(temporary.c_str());
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(why)));
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace vitrine
