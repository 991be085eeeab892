// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_IMAGE_FOLDER_H_
#define VITRINE_DATA_IMAGE_FOLDER_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// root/train/<class>/*.{jpg,jpeg,jpe,jfif,png,webp} and the same below root/test, or root/val, root/valid,
// root/validation where there is no root/test; either may be missing. Or root/<class>/*, which then is both splits.
// Classes are the names, in Unicode's form NFC, of the training split's folders that have a picture, in byte order,
// then those that only the test split has, so that both splits number alike what both have and no test picture changes
// what is trained. Files are in byte order within a class, so indices and labels are equal on every machine. What is
// hidden (data/folder.h) is passed over; files of other kinds, deeper pictures and folders without a picture are too,
// and Dataset::passed_over says so. NOT_FOUND or PERMISSION_DENIED names a folder that is missing or cannot be read,
// INVALID_ARGUMENT a link for a class that leads nowhere, or a split without a picture.
absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const std::filesystem::path& root, Split split);

}  // namespace vitrine

#endif  // VITRINE_DATA_IMAGE_FOLDER_H_
