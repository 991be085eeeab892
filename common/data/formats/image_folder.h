// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_IMAGE_FOLDER_H_
#define VITRINE_COMMON_DATA_FORMATS_IMAGE_FOLDER_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens root/train/<class>/*.{jpg,jpeg,jpe,jfif,png,webp}. The test split has the same layout in root/test,
// root/testing, root/val, root/valid or root/validation: in the first of these folders that contains a class of
// root/train, or else in the first of them that exists. The names may be in upper case, and root/training is read if
// there is no root/train. Either split may be missing. Without split folders, opens root/<class>/*, and both splits are
// this whole set.
//
// Classes are the folder names in Unicode form NFC: first the training split's folders with images, in byte order, then
// the folders that only the test split has. Thus a class of both splits has the same number in both, and the test split
// does not affect training. Within a class files are in byte order, so indices and labels are equal on every machine.
// Hidden names (common/data/folder.h) are ignored. Other files, deeper images, folders without images, and files and
// folders beside the split folders are also ignored; Dataset::remarks lists them.
//
// NOT_FOUND or PERMISSION_DENIED names a missing or unreadable folder. INVALID_ARGUMENT: a broken link in place of a
// class, or a split without images.
absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const std::filesystem::path& root, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_IMAGE_FOLDER_H_
