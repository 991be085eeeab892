// SPDX-License-Identifier: Apache-2.0
#include "client/commands/token_command.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/file/descriptor.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr size_t kRandomBytes = 32;
constexpr size_t kLongestName = 64;

absl::Status Unwritable(const std::string& file, int error) {
  return FileError(error, absl::StrCat("cannot write ", file));
}

// Appends with one write, so that a concurrent reader sees the whole line or nothing.
absl::Status AppendLine(const FileDescriptor& file, const std::string& path, const std::string& line) {
  struct stat there = {};
  char last = '\n';
  if (fstat(file.get(), &there) != 0 || (there.st_size > 0 && pread(file.get(), &last, 1, there.st_size - 1) != 1)) {
    return Unwritable(path, errno);
  }
  const std::string whole = absl::StrCat(last == '\n' ? "" : "\n", line, "\n");
  const ssize_t written = write(file.get(), whole.data(), whole.size());
  if (written == static_cast<ssize_t>(whole.size()) && fsync(file.get()) == 0) return absl::OkStatus();
  // A short write sets no errno. Its cause is a full disk or a limit on the file's size.
  const int error = written > 0 && written < static_cast<ssize_t>(whole.size()) ? ENOSPC : errno;
  if (written > 0 && ftruncate(file.get(), there.st_size) != 0) {
    return absl::DataLossError(absl::StrCat(path, " has an incomplete last line: remove it"));
  }
  return Unwritable(path, error);
}

}  // namespace

absl::Status CheckTokenName(const std::string& name) {
  const bool valid = !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
  });
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", absl::CHexEscape(name), "\" is no name; a name has 1 to ",
                                                 kLongestName, " letters, digits, '_', '.' and '-'"));
}

absl::Status MakeToken(const std::string& name, const std::string& file, std::ostream& out) {
  RETURN_IF_ERROR(CheckTokenName(name));
  unsigned char random[kRandomBytes];
  if (RAND_bytes(random, sizeof(random)) != 1) return absl::UnavailableError("the system provides no random numbers");
  const std::string token =
      absl::StrCat("vitrine_", absl::WebSafeBase64Escape(std::string(reinterpret_cast<char*>(random), sizeof(random))));
  const FileDescriptor opened(open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!opened.valid()) return Unwritable(file, errno);
  // Prints the token before the file makes it valid. The file has only a hash, so an unprinted token would be lost.
  out << token << "\n" << std::flush;
  if (!out.good())
    return absl::UnavailableError(absl::StrCat("the token cannot be printed; ", file, " does not contain it"));
  const absl::Status appended = AppendLine(opened, file, absl::StrCat(name, " sha256:", Sha256Hex(token)));
  if (appended.ok()) return appended;
  return absl::Status(appended.code(), absl::StrCat(appended.message(), "; the printed token is not valid"));
}

}  // namespace vitrine
