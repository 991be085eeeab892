// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_STL10_H_
#define VITRINE_COMMON_DATA_FORMATS_STL10_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens the binary version of STL-10: train_X.bin, train_y.bin, test_X.bin and test_y.bin in `directory` or its
// subfolder stl10_binary/. Images are 96x96 RGB, plane by plane and column by column. Labels are 1 to 10 in the file
// and 0 to 9 here. Class names come from class_names.txt, if present. Unlabelled images are not read.
//
// NOT_FOUND names the missing file. INVALID_ARGUMENT names the file, and the record if its label is out of range.
absl::StatusOr<std::unique_ptr<Dataset>> OpenStl10(const std::filesystem::path& directory, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_STL10_H_
