// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_IMAGE_FOLDER_H_
#define VITRINE_COMMON_DATA_FORMATS_IMAGE_FOLDER_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens root/train/<class>/*.{jpg,jpeg,jpe,jfif,png,webp} and the same below root/test, or else root/val, root/valid,
// root/validation; either may be missing. Or root/<class>/*, which is then both splits. Classes are the names, in
// Unicode form NFC, of the training split's folders with images, in byte order, then those only in the test split:
// shared classes have the same number in both splits, and the test split does not change what is trained. Files are in
// byte order within a class, so indices and labels are equal on every machine. Hidden names (common/data/folder.h) are
// ignored; so are files of other kinds, deeper images and folders without an image, which Dataset::passed_over lists.
// NOT_FOUND or PERMISSION_DENIED names a missing or unreadable folder, INVALID_ARGUMENT a broken link in place of a
// class, or a split without an image.
absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const std::filesystem::path& root, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_IMAGE_FOLDER_H_
