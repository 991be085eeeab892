// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_IMAGE_FILES_H_
#define VITRINE_COMMON_DATA_FORMATS_IMAGE_FILES_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

struct LabelledFile {
  std::string path;  // path relative to the set's folder; also the image's name
  int label = 0;
};

// List of the files of a data set, and properties of the set.
struct ImageList {
  std::vector<LabelledFile> files = {};
  std::vector<std::string> labels = {};
  bool undivided = false;                 // see Dataset::undivided
  std::vector<std::string> remarks = {};  // see Dataset::remarks
};

// Returns a data set of the files (JPEG, PNG, WebP) below `root` that the list names, in the order of the list. A file
// is opened when its image is read.
std::unique_ptr<Dataset> MakeImageFiles(std::filesystem::path root, ImageList list);

// Returns the file as a client sends it: unchanged, or reduced if a server would reject its size
// (common/imaging/fit_image.h). INVALID_ARGUMENT, prefixed by `name`, if the image is too large to be reduced.
absl::StatusOr<std::string> SentFile(std::string_view name, std::string bytes);

// Decodes the file as a client sends it (see SentFile), so the result is the image that a server decodes. Errors are
// prefixed by `name`.
absl::StatusOr<Image> DecodeNamed(std::string_view name, std::string bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_IMAGE_FILES_H_
