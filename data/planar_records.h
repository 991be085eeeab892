// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_PLANAR_RECORDS_H_
#define VITRINE_DATA_PLANAR_RECORDS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// Files of equal records, each one RGB picture of 8 bits stored plane by plane (red, green, blue), perhaps with labels
// in front. CIFAR and STL-10 are such files.
struct RecordLayout {
  int width = 0;            // pixels
  int height = 0;           // pixels
  int header_bytes = 0;     // in front of the pixels of each record
  bool by_columns = false;  // whether a plane's columns, instead of its rows, lie one after the other

  int64_t plane() const { return int64_t{width} * height; }
  int64_t record() const { return header_bytes + 3 * plane(); }  // bytes
};

// The headers of all records of a file, one after the other. NOT_FOUND if there is no such file; INVALID_ARGUMENT if it
// is empty or no whole number of records.
absl::StatusOr<std::vector<uint8_t>> ReadHeaders(const std::filesystem::path& path, const RecordLayout& layout);

// The pictures of the files in order, with `classes` in the same order, whose number must be theirs (INVALID_ARGUMENT
// names the first of them). A picture's name is its file's and the index within it: "test_batch.bin[17]". Pixels stay
// in the files; an access is one pread.
absl::StatusOr<std::unique_ptr<Dataset>> OpenPlanarRecords(const std::vector<std::filesystem::path>& paths,
                                                           const RecordLayout& layout, std::vector<uint8_t> classes,
                                                           std::vector<std::string> labels);

}  // namespace vitrine

#endif  // VITRINE_DATA_PLANAR_RECORDS_H_
