// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/small_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace vitrine {

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, int64_t most) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  const auto because = [&](int number) {
    return absl::StrCat(path, ": ", absl::AsciiStrToLower(std::strerror(number)));
  };
  if (file == nullptr) {
    return errno == EACCES ? absl::PermissionDeniedError(because(errno)) : absl::NotFoundError(because(errno));
  }
  std::string bytes;
  char buffer[16 << 10];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    bytes.append(buffer, n);
    if (static_cast<int64_t>(bytes.size()) > most) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has more than ", most, " bytes"));
    }
  }
  if (std::ferror(file.get()) != 0) return absl::NotFoundError(because(errno));  // for example, the path is a folder
  return bytes;
}

}  // namespace vitrine
