// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_FILE_H_
#define VITRINE_DATA_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// A regular file that is open for reading at any place. Movable; closes on destruction. ReadAt is thread-safe and takes
// no lock.
class ReadOnlyFile {
 public:
  // NOT_FOUND if there is no such file, PERMISSION_DENIED if it may not be read, INVALID_ARGUMENT if it is not a
  // regular one; never blocks on a FIFO.
  static absl::StatusOr<ReadOnlyFile> Open(const std::filesystem::path& path);

  ReadOnlyFile(ReadOnlyFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  ReadOnlyFile& operator=(ReadOnlyFile&&) = delete;
  ~ReadOnlyFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // bytes, when it was opened

  // Exactly `bytes` from `offset` on. INVALID_ARGUMENT names the file if it ends before; UNAVAILABLE if the disk fails.
  absl::Status ReadAt(int64_t offset, void* to, int64_t bytes) const;
  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t bytes) const;

 private:
  ReadOnlyFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  int64_t size_ = 0;
};

// INVALID_ARGUMENT that names the file.
absl::Status Fault(const ReadOnlyFile& file, const std::string& fault);

// INVALID_ARGUMENT if the file is larger than `most_bytes`; nothing is allocated then.
absl::StatusOr<std::string> ReadWholeFile(const std::filesystem::path& path, int64_t most_bytes = int64_t{256} << 20);

// A text that people wrote without its byte order mark and with "\n" at its line ends, which may be "\n", "\r\n" or
// "\r". INVALID_ARGUMENT says that it is UTF-16 or UTF-32.
absl::StatusOr<std::string> PlainText(std::string_view bytes);

// The same of a file, which errors name.
absl::StatusOr<std::string> ReadText(const std::filesystem::path& path);

// The lines of such a file without blanks behind them and without empty lines at its end.
absl::StatusOr<std::vector<std::string>> ReadLines(const std::filesystem::path& path);

// One class name per line. INVALID_ARGUMENT if there are not `count` of them or one is empty.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::filesystem::path& path, size_t count);

bool IsRegularFile(const std::filesystem::path& path);
bool IsFolder(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_DATA_FILE_H_
