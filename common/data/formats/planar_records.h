// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_PLANAR_RECORDS_H_
#define VITRINE_COMMON_DATA_FORMATS_PLANAR_RECORDS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Layout of files of equal records. A record is an optional header with labels, then an 8-bit RGB image stored plane by
// plane (red, green, blue). Used by CIFAR and STL-10.
struct RecordLayout {
  int width = 0;            // pixels
  int height = 0;           // pixels
  int header_bytes = 0;     // size of the header before the pixels of each record
  bool by_columns = false;  // true: planes are stored column by column, not row by row

  int64_t plane() const { return int64_t{width} * height; }
  int64_t record() const { return header_bytes + 3 * plane(); }  // bytes
};

// Reads the headers of all records of a file, concatenated. NOT_FOUND if there is no such file. INVALID_ARGUMENT if it
// is empty or not a whole number of records.
absl::StatusOr<std::vector<uint8_t>> ReadHeaders(const std::filesystem::path& path, const RecordLayout& layout);

// Opens the images of the files, in order. `classes` has one class per image, in the same order; INVALID_ARGUMENT names
// the first file if the number of classes differs from the number of images. An image's name is its file's name and the
// image's index in that file: "test_batch.bin[17]". Pixels stay in the files; reading an image takes one pread call.
absl::StatusOr<std::unique_ptr<Dataset>> OpenPlanarRecords(const std::vector<std::filesystem::path>& paths,
                                                           const RecordLayout& layout, std::vector<uint8_t> classes,
                                                           std::vector<std::string> labels);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_PLANAR_RECORDS_H_
