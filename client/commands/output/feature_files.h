// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_FEATURE_FILES_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_FEATURE_FILES_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

enum class NpyType { kFloat32, kInt32 };

// An array in a .npy file (format 1.0, little-endian, C order) for numpy.load. It is written row by row, and its shape
// is [number of rows, row_shape...].
//
// Rows are written to "<path>.new", which Finish renames to the path. Until then, an existing file at the path is kept.
// Not thread-safe.
class NpyFile {
 public:
  // A failed write returns an error of FileError. After the first failed write, every call returns this error.
  static absl::StatusOr<std::unique_ptr<NpyFile>> Create(const std::string& path, std::vector<int64_t> row_shape,
                                                         NpyType type = NpyType::kFloat32);
  ~NpyFile();  // removes an unfinished file

  const std::vector<int64_t>& row_shape() const { return row_shape_; }
  int64_t rows() const { return rows_; }

  // Append a row. Require that row.size() is the product of row_shape, and that the array has the row's element type.
  absl::Status Append(std::span<const float> row);
  absl::Status Append(std::span<const int32_t> row);
  absl::Status Finish();

 private:
  NpyFile(const std::string& path, std::vector<int64_t> row_shape, NpyType type);
  absl::Status Check();

  const std::string path_;
  const std::vector<int64_t> row_shape_;
  const NpyType type_;
  std::ofstream file_;
  absl::Status failed_;  // first error
  int64_t rows_ = 0;
  bool finished_ = false;
};

// Returns an array as the bytes of a .npy file. Requires values.size() to be the product of `shape`.
std::string NpyBytes(const std::vector<int64_t>& shape, std::span<const float> values);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_FEATURE_FILES_H_
