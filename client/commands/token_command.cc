// SPDX-License-Identifier: Apache-2.0
#include "client/commands/token_command.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr size_t kRandomBytes = 32;
constexpr size_t kLongestName = 64;

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
  });
}

absl::Status Unwritable(const std::string& file, int error) {
  const std::string sentence = absl::StrCat(file, " cannot be written: ", absl::AsciiStrToLower(std::strerror(error)));
  return error == EACCES ? absl::PermissionDeniedError(sentence) : absl::NotFoundError(sentence);
}

// Appends with one write, so that a concurrent reader sees the whole line or nothing.
absl::Status AppendLine(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return Unwritable(path, errno);
  struct stat there = {};
  char last = '\n';
  absl::Status status;
  if (fstat(file, &there) != 0 || (there.st_size > 0 && pread(file, &last, 1, there.st_size - 1) != 1)) {
    status = Unwritable(path, errno);
  } else {
    const std::string whole = absl::StrCat(last == '\n' ? "" : "\n", line, "\n");
    if (write(file, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()) || fsync(file) != 0) {
      status = Unwritable(path, errno);
    }
  }
  close(file);
  return status;
}

}  // namespace

absl::Status MakeToken(const std::string& name, const std::string& file, std::ostream& out) {
  if (!IsName(name)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", absl::CHexEscape(name), "\" is no name; a name has 1 to ",
                                                   kLongestName, " letters, digits, '_', '.' and '-'"));
  }
  unsigned char random[kRandomBytes];
  if (RAND_bytes(random, sizeof(random)) != 1) return absl::UnavailableError("the system provides no random numbers");
  const std::string token =
      absl::StrCat("vitrine_", absl::WebSafeBase64Escape(std::string(reinterpret_cast<char*>(random), sizeof(random))));
  RETURN_IF_ERROR(AppendLine(file, absl::StrCat(name, " sha256:", Sha256Hex(token))));
  out << token << "\n";
  return absl::OkStatus();
}

}  // namespace vitrine
