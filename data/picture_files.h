// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_PICTURE_FILES_H_
#define VITRINE_DATA_PICTURE_FILES_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

struct LabelledFile {
  std::string path;  // relative to the set's folder; the picture's name
  int label = 0;
};

// The files of a set and what is said of all of them.
struct PictureList {
  std::vector<LabelledFile> files = {};
  std::vector<std::string> labels = {};
  bool undivided = false;        // Dataset::undivided
  std::string passed_over = {};  // Dataset::passed_over
};

// A set of JPEG, PNG and WebP files below `root`, in the given order. They are opened when they are asked for.
std::unique_ptr<Dataset> MakePictureFiles(std::filesystem::path root, PictureList list);

// The file as a client of a server sends it: as it is, or made smaller where a server would refuse it for its size
// (imaging/fit_picture.h). INVALID_ARGUMENT, with `name` in front, where it is too large for that as well.
absl::StatusOr<std::string> SentFile(std::string_view name, std::string bytes);

// The picture that a server would decode: Decode of SentFile, with `name` in front of what an error says.
absl::StatusOr<Image> DecodeNamed(std::string_view name, std::string bytes);

}  // namespace vitrine

#endif  // VITRINE_DATA_PICTURE_FILES_H_
