// SPDX-License-Identifier: Apache-2.0
#include "data/image_folder.h"

#include <array>
#include <map>
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

// Empty where there is none. Beside train/ it is one by its name; alone it may be a class that is called so, which
// holds pictures and no folders.
fs::path TestFolder(const fs::path& root, bool beside_train) {
  for (const char* name : kTestFolders) {
    const fs::path folder = root / name;
    if (!IsFolder(folder)) continue;
    const absl::StatusOr<std::vector<std::string>> classes = SortedFolders(folder);
    if (beside_train || (classes.ok() && !classes->empty())) return folder;
  }
  return {};
}

// What holds the folders of the classes, for training and for the split that is asked for.
struct Folders {
  fs::path train;  // empty: there is none, and `split` alone has the classes
  fs::path split;
};

absl::StatusOr<Folders> FindFolders(const fs::path& root, Split split) {
  const fs::path train = IsFolder(root / "train") ? root / "train" : fs::path();
  const fs::path test = TestFolder(root, !train.empty());
  if (train.empty() && test.empty()) return Folders{root, root};
  if (split == Split::kTrain && train.empty()) {
    return absl::NotFoundError(absl::StrCat(root.string(), " has ", test.filename().string(),
                                            "/ but no train/: there is nothing to train on"));
  }
  if (split == Split::kTest && test.empty()) {
    return absl::NotFoundError(absl::StrCat(root.string(), " has train/ but no folder of the test split; one of ",
                                            absl::StrJoin(kTestFolders, "/, "), "/ was looked for"));
  }
  return Folders{train, split == Split::kTrain ? train : test};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const fs::path& root, Split split) {
  if (!IsFolder(root)) return absl::NotFoundError(absl::StrCat(root.string(), " is not a folder"));
  ASSIGN_OR_RETURN(const Folders folders, FindFolders(root, split));
  std::vector<std::string> labels;
  if (!folders.train.empty()) {
    ASSIGN_OR_RETURN(labels, SortedFolders(folders.train));
  }
  std::map<std::string, int> numbers;
  for (const std::string& label : labels) numbers.emplace(label, static_cast<int>(numbers.size()));
  const fs::path& folder = folders.split;
  ASSIGN_OR_RETURN(const std::vector<std::string> present, SortedFolders(folder));
  std::vector<LabelledFile> files;
  for (const std::string& name : present) {
    const auto [number, is_new] = numbers.emplace(name, static_cast<int>(numbers.size()));
    if (is_new) labels.push_back(name);
    ASSIGN_OR_RETURN(const std::vector<std::string> pictures, SortedPictures(folder / name));
    for (const std::string& picture : pictures) {
      files.push_back({absl::StrCat(name, "/", picture), number->second});
    }
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.string(), " holds no picture; expected <class>/*.jpg, *.jpeg, *.png or *.webp"));
  }
  return MakePictureFiles(folder, std::move(files), std::move(labels));
}

}  // namespace vitrine
