// SPDX-License-Identifier: Apache-2.0
#include "data/image_folder.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "data/file.h"
#include "data/picture_files.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// The first of them that is there holds the test split.
constexpr std::array kTestFolders = {"test", "val", "valid", "validation"};

absl::StatusOr<fs::path> TestFolder(const fs::path& root) {
  for (const char* name : kTestFolders) {
    if (IsFolder(root / name)) return root / name;
  }
  return absl::NotFoundError(absl::StrCat(root.string(), " has train/ but no folder of the test split; one of ",
                                          absl::StrJoin(kTestFolders, "/, "), "/ was looked for"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const fs::path& root, Split split) {
  if (!IsFolder(root)) return absl::NotFoundError(absl::StrCat(root.string(), " is not a folder"));
  // The training split defines the classes, so that both splits number them alike.
  const fs::path train = IsFolder(root / "train") ? root / "train" : root;
  fs::path folder = train;
  if (train != root && split == Split::kTest) {
    ASSIGN_OR_RETURN(folder, TestFolder(root));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> labels, SortedFolders(train));
  ASSIGN_OR_RETURN(const std::vector<std::string> present, SortedFolders(folder));
  std::vector<LabelledFile> files;
  for (const std::string& name : present) {
    const auto found = std::lower_bound(labels.begin(), labels.end(), name);
    if (found == labels.end() || *found != name) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder.string(), " has the class ", name, ", which ", train.string(), " does not have"));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> pictures, SortedPictures(folder / name));
    for (const std::string& picture : pictures) {
      files.push_back({absl::StrCat(name, "/", picture), static_cast<int>(found - labels.begin())});
    }
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.string(), " holds no picture; expected <class>/*.jpg, *.jpeg or *.png"));
  }
  return MakePictureFiles(std::move(folder), std::move(files), std::move(labels));
}

}  // namespace vitrine
