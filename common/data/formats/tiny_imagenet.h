// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_TINY_IMAGENET_H_
#define VITRINE_COMMON_DATA_FORMATS_TINY_IMAGENET_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens Tiny-ImageNet-200 in `directory` or its subfolder tiny-imagenet-200/. wnids.txt lists the classes in the order
// of their labels. The training split is train/<wnid>/images/*. The test split is val/images/* with
// val/val_annotations.txt ("FILE <tab> WNID" and a box, which is ignored), because the official test images have no
// labels. Class names come from words.txt, if present; otherwise they are the wnids. Files are in byte order within a
// class, or within val/images.
//
// NOT_FOUND names the missing file. INVALID_ARGUMENT names the file and, if one line is wrong, the line: for example an
// annotation with an unknown class, a missing image or a repeated image.
absl::StatusOr<std::unique_ptr<Dataset>> OpenTinyImageNet(const std::filesystem::path& directory, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_TINY_IMAGENET_H_
