// SPDX-License-Identifier: Apache-2.0
#include "common/data/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/byte_order_mark.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// File formats that users often give in place of text: the first bytes of the format, and the error message.
constexpr std::pair<std::string_view, std::string_view> kOtherFormats[] = {
    {"\x1F\x8B", "this is a gzip file; unpack it with gunzip"},
    {"\xFD"
     "7zXZ",
     "this is an xz file; unpack it with unxz"},
    {"\x28\xB5\x2F\xFD", "this is a zstd file; unpack it with unzstd"},
    {"PK\x03\x04", "this is a ZIP archive or a spreadsheet; unpack it, or save it as CSV"},
};

absl::Status Fault(const std::string& path, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", fault));
}

}  // namespace

absl::Status Fault(const ReadOnlyFile& file, const std::string& fault) {
  return Fault(file.path(), fault);
}

absl::StatusOr<ReadOnlyFile> ReadOnlyFile::Open(const std::filesystem::path& path) {
  ReadOnlyFile file(path.string(), open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor_ < 0) {
    const int reason = errno;
    const std::string fault = absl::StrCat(file.path_, " cannot be opened: ", std::strerror(reason));
    if (reason == ENOENT || reason == ENOTDIR || reason == ELOOP) return absl::NotFoundError(fault);
    return reason == EACCES ? absl::PermissionDeniedError(fault) : absl::UnavailableError(fault);
  }
  struct stat about = {};
  if (fstat(file.descriptor_, &about) != 0) {
    return absl::UnavailableError(absl::StrCat(file.path_, ": ", std::strerror(errno)));
  }
  if (!S_ISREG(about.st_mode)) return Fault(file.path_, "not a regular file");
  file.size_ = about.st_size;
  return file;
}

ReadOnlyFile::~ReadOnlyFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status ReadOnlyFile::ReadAt(int64_t offset, void* to, int64_t bytes) const {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t got = pread(descriptor_, static_cast<char*>(to) + done, bytes - done, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat(path_, " cannot be read: ", std::strerror(errno)));
    if (got == 0) return Fault(path_, absl::StrCat("ends at byte ", offset + done, ", within a record"));
    done += got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadOnlyFile::ReadAt(int64_t offset, int64_t bytes) const {
  std::string read(bytes, '\0');
  RETURN_IF_ERROR(ReadAt(offset, read.data(), bytes));
  return read;
}

absl::StatusOr<std::string> ReadWholeFile(const std::filesystem::path& path, int64_t most_bytes) {
  ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(path));
  if (file.size() > most_bytes) {
    return Fault(file.path(), absl::StrCat("has ", file.size(), " bytes, more than the ", most_bytes, " allowed"));
  }
  return file.ReadAt(0, file.size());
}

absl::StatusOr<std::string> PlainText(std::string_view bytes) {
  constexpr std::string_view kBigEndianMark = "\xFE\xFF", kLittleEndianMark = "\xFF\xFE";
  for (const auto& [signature, format] : kOtherFormats) {
    if (bytes.starts_with(signature)) return absl::InvalidArgumentError(std::string(format));
  }
  const auto nuls = static_cast<size_t>(std::count(bytes.begin(), bytes.end(), '\0'));
  // In UTF-16 without a byte order mark, half the bytes of ASCII text are NUL.
  if (bytes.starts_with(kBigEndianMark) || bytes.starts_with(kLittleEndianMark) || 4 * nuls > bytes.size()) {
    return absl::InvalidArgumentError("the text is UTF-16 or UTF-32; save it as UTF-8");
  }
  if (nuls > 0) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.find('\0'));
    return absl::InvalidArgumentError(absl::StrCat("line ", 1 + std::count(bytes.begin(), first, '\n'),
                                                   " has a NUL byte; this is no text file, or it is damaged"));
  }
  bytes = WithoutByteOrderMark(bytes);
  return absl::StrReplaceAll(absl::string_view(bytes.data(), bytes.size()), {{"\r\n", "\n"}, {"\r", "\n"}});
}

absl::StatusOr<std::string> ReadText(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  absl::StatusOr<std::string> text = PlainText(bytes);
  if (!text.ok()) return Fault(path.string(), std::string(text.status().message()));
  return text;
}

absl::StatusOr<std::vector<std::string>> ReadLines(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.emplace_back(WithoutTrailingBlanks({line.data(), line.size()}));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::filesystem::path& path, size_t count) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ReadLines(path));
  if (names.size() != count) {
    return Fault(path.string(), absl::StrCat("names ", names.size(), " classes; there are ", count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (names[i].empty()) return Fault(path.string(), absl::StrCat("line ", i + 1, " is empty"));
  }
  return names;
}

bool IsRegularFile(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool IsFolder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace vitrine
