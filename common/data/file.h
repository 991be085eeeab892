// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FILE_H_
#define VITRINE_COMMON_DATA_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// A regular file opened for reading at any offset. Movable; the destructor closes it. ReadAt is thread-safe and takes
// no lock.
class ReadOnlyFile {
 public:
  // Opens a file; never blocks on a FIFO. NOT_FOUND: no such file. PERMISSION_DENIED: not readable. INVALID_ARGUMENT:
  // not a regular file.
  static absl::StatusOr<ReadOnlyFile> Open(const std::filesystem::path& path);

  ReadOnlyFile(ReadOnlyFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  ReadOnlyFile& operator=(ReadOnlyFile&&) = delete;
  ~ReadOnlyFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // size in bytes when the file was opened

  // Reads exactly `bytes` at `offset`. INVALID_ARGUMENT names a file that ends too early. UNAVAILABLE: an I/O error.
  absl::Status ReadAt(int64_t offset, void* to, int64_t bytes) const;
  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t bytes) const;

 private:
  ReadOnlyFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  int64_t size_ = 0;
};

// Returns INVALID_ARGUMENT with the file's name and `fault`.
absl::Status Fault(const ReadOnlyFile& file, const std::string& fault);

// Reads a file. INVALID_ARGUMENT if it is larger than `most_bytes`. Other errors come from ReadOnlyFile.
absl::StatusOr<std::string> ReadWholeFile(const std::filesystem::path& path, int64_t most_bytes = int64_t{256} << 20);

// Normalises text: removes the byte order mark and converts line ends ("\n", "\r\n" or "\r") to "\n". INVALID_ARGUMENT
// names the actual content if it is not plain text: UTF-16 or UTF-32, compressed, a spreadsheet, or text with a NUL
// byte.
absl::StatusOr<std::string> PlainText(std::string_view bytes);

// Reads a file and normalises its text; errors name the file.
absl::StatusOr<std::string> ReadText(const std::filesystem::path& path);

// Reads a file like ReadText and returns its lines, without trailing blanks (WithoutTrailingBlanks,
// common/data/unicode.h) and without empty lines at the end.
absl::StatusOr<std::vector<std::string>> ReadLines(const std::filesystem::path& path);

// Reads one class name per line. INVALID_ARGUMENT if a name is empty or there are not exactly `count` names.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::filesystem::path& path, size_t count);

bool IsRegularFile(const std::filesystem::path& path);
bool IsFolder(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FILE_H_
