// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_IMAGE_FOLDER_H_
#define VITRINE_DATA_IMAGE_FOLDER_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// root/train/<class>/*.{jpg,jpeg,png,webp} and the same below root/test, or root/val, root/valid, root/validation where
// there is no root/test; either may be missing. Or root/<class>/*, which then is both splits. Classes are the folder
// names of the training split in byte order, then those that only the test split has, so that both splits number alike
// what both have and no test picture changes what is trained. Files are in byte order within a class, so indices and
// labels are equal on every machine. Hidden entries and files of other kinds are passed over. NOT_FOUND if a folder is
// missing, INVALID_ARGUMENT if it holds no picture.
absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const std::filesystem::path& root, Split split);

}  // namespace vitrine

#endif  // VITRINE_DATA_IMAGE_FOLDER_H_
