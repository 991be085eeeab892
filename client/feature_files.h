// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_FEATURE_FILES_H_
#define VITRINE_CLIENT_FEATURE_FILES_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// An array of float32 in a .npy file (format 1.0, little-endian, C order), as numpy.load reads it, written row by row:
// shape [number of rows, row_shape...].
//
// The rows go to "<path>.new", which takes the path's place when Finish has completed it; before that, whatever was
// there stays. Not thread-safe.
class NpyFile {
 public:
  // UNAVAILABLE: it cannot be written, with the reason.
  static absl::StatusOr<std::unique_ptr<NpyFile>> Create(const std::string& path, std::vector<int64_t> row_shape);
  ~NpyFile();  // removes what is not finished

  const std::vector<int64_t>& row_shape() const { return row_shape_; }
  int64_t rows() const { return rows_; }

  // Requires as many values as row_shape says.
  absl::Status Append(std::span<const float> row);
  absl::Status Finish();

 private:
  NpyFile(const std::string& path, std::vector<int64_t> row_shape);
  absl::Status Check();

  const std::string path_;
  const std::vector<int64_t> row_shape_;
  std::ofstream file_;
  int64_t rows_ = 0;
  bool finished_ = false;
};

// A whole array as the bytes of a .npy file. Requires as many values as the shape says.
std::string NpyBytes(const std::vector<int64_t>& shape, std::span<const float> values);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_FEATURE_FILES_H_
