// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/image_folder.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/file.h"
#include "common/data/folder.h"
#include "common/data/formats/image_files.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Names of the test split's folder; the first one that exists is used.
constexpr std::array kTestFolders = {"test", "val", "valid", "validation"};

// Returns the test folder; empty if there is none. If there is no train/, a folder with such a name may be a class if
// it has only images, so the test folder must contain folders.
fs::path TestFolder(const fs::path& root, bool beside_train) {
  for (const char* name : kTestFolders) {
    const fs::path folder = root / name;
    if (!IsFolder(folder)) continue;
    const absl::StatusOr<FolderContent> content = ReadFolder(folder);
    if (beside_train || (content.ok() && !content->folders.empty())) return folder;
  }
  return {};
}

// Parent folders of the classes, for training and for the requested split.
struct Folders {
  fs::path train;  // empty: there is no training split, and the classes come from `split`
  fs::path split;
};

absl::StatusOr<Folders> FindFolders(const fs::path& root, Split split) {
  const fs::path train = IsFolder(root / "train") ? root / "train" : fs::path();
  const fs::path test = TestFolder(root, !train.empty());
  if (train.empty() && test.empty()) return Folders{root, root};
  if (split == Split::kTrain && train.empty()) {
    return absl::NotFoundError(absl::StrCat(root.string(), " has ", test.filename().string(),
                                            "/ but no train/, so there is no training split"));
  }
  if (split == Split::kTest && test.empty()) {
    return absl::NotFoundError(absl::StrCat(root.string(), " has train/ but no folder of the test split; add one of ",
                                            absl::StrJoin(kTestFolders, "/, "), "/"));
  }
  return Folders{train, split == Split::kTrain ? train : test};
}

// Numbers classes in order of first use. Names that differ only in Unicode form are one class.
class FolderClasses {
 public:
  int NumberOf(const std::string& folder) {
    std::string label = Composed(folder);
    const auto [number, is_new] = numbers_.emplace(label, static_cast<int>(labels_.size()));
    if (is_new) labels_.push_back(std::move(label));
    return number->second;
  }
  std::vector<std::string> Take() && { return std::move(labels_); }

 private:
  std::map<std::string, int> numbers_;
  std::vector<std::string> labels_;
};

// Reads the parent folder of the classes. INVALID_ARGUMENT for a broken link, because its class would be missing.
absl::StatusOr<FolderContent> ReadClassFolders(const fs::path& folder) {
  ASSIGN_OR_RETURN(FolderContent content, ReadFolder(folder));
  if (content.broken_links.empty()) return content;
  return absl::InvalidArgumentError(
      absl::StrCat((folder / content.broken_links.front()).string(), " is a broken link"));
}

// Numbers the classes of the training split, which are its folders with images.
absl::Status AddClasses(const fs::path& train, FolderClasses& classes) {
  ASSIGN_OR_RETURN(const FolderContent content, ReadClassFolders(train));
  for (const std::string& name : content.folders) {
    ASSIGN_OR_RETURN(const FolderContent images, ReadFolder(train / name));
    if (!images.images.empty()) classes.NumberOf(name);
  }
  return absl::OkStatus();
}

// Adds the images of a split's class folders, sorted by bytes.
absl::Status AddImages(const fs::path& folder, FolderClasses& classes, std::vector<LabelledFile>& files,
                       PassedOver& passed_over) {
  ASSIGN_OR_RETURN(const FolderContent content, ReadClassFolders(folder));
  passed_over.AddOthers(content);
  passed_over.AddBeside(static_cast<int64_t>(content.images.size()));
  for (const std::string& name : content.folders) {
    ASSIGN_OR_RETURN(const FolderContent own, ReadFolder(folder / name));
    passed_over.AddOthers(own);
    const int64_t deeper = own.folders.empty() ? 0 : CountImagesBelow(folder / name);
    passed_over.AddDeeper(name, deeper);
    if (own.images.empty() && deeper == 0) passed_over.AddEmptyFolder(name);
    if (own.images.empty()) continue;
    const int number = classes.NumberOf(name);
    for (const std::string& image : own.images) files.push_back({absl::StrCat(name, "/", image), number});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImageFolder(const fs::path& root, Split split) {
  if (!IsFolder(root)) return absl::NotFoundError(absl::StrCat(root.string(), " is not a folder"));
  ASSIGN_OR_RETURN(const Folders folders, FindFolders(root, split));
  FolderClasses classes;
  if (!folders.train.empty() && folders.train != folders.split) RETURN_IF_ERROR(AddClasses(folders.train, classes));
  ImageList list{.undivided = folders.split == root};
  PassedOver passed_over;
  RETURN_IF_ERROR(AddImages(folders.split, classes, list.files, passed_over));
  const std::string words = passed_over.InWords();
  if (!words.empty()) list.passed_over = absl::StrCat("skipped in ", folders.split.string(), ": ", words);
  if (list.files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(folders.split.string(), " holds no image; expected <class>/*",
                                                   kImageEndings, words.empty() ? "" : "; ", list.passed_over));
  }
  list.labels = std::move(classes).Take();
  return MakeImageFiles(folders.split, std::move(list));
}

}  // namespace vitrine
