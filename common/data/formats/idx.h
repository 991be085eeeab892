// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_IDX_H_
#define VITRINE_COMMON_DATA_FORMATS_IDX_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Contents of an idx file: big-endian sizes, then unsigned bytes. The file may be compressed with gzip.
struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
};

// Reads an idx file. INVALID_ARGUMENT, with the file's name, for a file that is not idx, has elements other than
// unsigned bytes, has another size than its header states, or has more than 1 GiB. NOT_FOUND if the file cannot be
// opened.
absl::StatusOr<IdxArray> ReadIdx(const std::filesystem::path& file);

// Opens MNIST's layout: <prefix>-images-idx3-ubyte[.gz] and <prefix>-labels-idx1-ubyte[.gz] in `directory`, with the
// prefix "train" or "t10k". `labels` names the classes.
absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const std::filesystem::path& directory, Split split,
                                                 std::vector<std::string> labels);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_IDX_H_
