// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/image_folder.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/data/file.h"
#include "common/data/folder.h"
#include "common/data/formats/image_files.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Names of the split folders, in order of preference.
constexpr std::array kTrainFolders = {"train", "training"};
constexpr std::array kTestFolders = {"test", "testing", "val", "valid", "validation"};

// Returns the folders of a set that have one of `names`, in upper or lower case. The order is that of `names`; for each
// name, the lower-case spelling comes first.
std::vector<std::string> FoldersNamed(const FolderContent& content, absl::Span<const char* const> names) {
  std::vector<std::string> found;
  for (const char* name : names) {
    std::vector<std::string> spelt;
    for (const std::string& folder : content.folders) {
      if (absl::EqualsIgnoreCase(folder, name)) spelt.push_back(folder);
    }
    found.insert(found.end(), spelt.rbegin(), spelt.rend());  // in byte order, upper case comes before lower case
  }
  return found;
}

std::vector<std::string> ClassFolders(const fs::path& split) {
  const absl::StatusOr<FolderContent> content = ReadFolder(split);
  std::vector<std::string> names;
  if (content.ok())
    std::transform(content->folders.begin(), content->folders.end(), std::back_inserter(names), Composed);
  std::sort(names.begin(), names.end());
  return names;
}

// Names of the split folders in a set's folder; empty: there is no such folder.
struct SplitFolders {
  std::string train = {}, test = {};
  std::vector<std::string> unlabelled = {};  // folders named like a test split, without a class of the training split
  std::vector<std::string> remarks = {};
};

std::string TrainFolder(const fs::path& root, const FolderContent& content) {
  for (const std::string& name : FoldersNamed(content, kTrainFolders)) {
    // A folder named "training" is a class, not a split, if it has no subfolders.
    if (name == kTrainFolders.front() || !ClassFolders(root / name).empty()) return name;
  }
  return "";
}

// Chooses the test folder among the folders with a name of kTestFolders. Takes the first folder that has a class of the
// training split, because a folder without such a class usually holds unlabelled images. If no folder has such a class,
// takes the first folder. Without a training split, takes a folder only if it has subfolders, because a folder without
// subfolders could itself be a class.
void ChooseTest(const fs::path& root, const FolderContent& content, SplitFolders& folders) {
  const std::vector<std::string> trained =
      folders.train.empty() ? std::vector<std::string>() : ClassFolders(root / folders.train);
  std::vector<std::string>& unlabelled = folders.unlabelled;
  for (const std::string& name : FoldersNamed(content, kTestFolders)) {
    const std::vector<std::string> classes = ClassFolders(root / name);
    const bool fits = folders.train.empty() ? !classes.empty()
                                            : std::any_of(classes.begin(), classes.end(), [&](const std::string& each) {
                                                return std::binary_search(trained.begin(), trained.end(), each);
                                              });
    if (fits) {
      folders.test = name;
      break;
    }
    if (!folders.train.empty()) unlabelled.push_back(name);
  }
  if (unlabelled.empty()) return;
  if (folders.test.empty()) {
    folders.test = unlabelled.front();
    return;
  }
  folders.remarks.push_back(absl::StrCat(root.string(), ": ", absl::StrJoin(unlabelled, "/, "), "/ has no class of ",
                                         folders.train, "/, so ", folders.test, "/ is the test split"));
}

SplitFolders FindSplits(const fs::path& root, const FolderContent& content) {
  SplitFolders folders{.train = TrainFolder(root, content)};
  ChooseTest(root, content, folders);
  if (folders.train.empty() && folders.test.empty()) return folders;
  std::vector<std::string> beside;
  for (const std::string& name : content.folders) {
    const bool said = std::find(folders.unlabelled.begin(), folders.unlabelled.end(), name) != folders.unlabelled.end();
    if (name != folders.train && name != folders.test && !said) beside.push_back(name);
  }
  std::vector<std::string> skipped, read;
  if (!content.images.empty()) {
    skipped.push_back(absl::StrCat(content.images.size(), content.images.size() == 1 ? " image" : " images"));
  }
  if (!beside.empty()) {
    skipped.push_back(absl::StrCat(beside.size() == 1 ? "the folder " : "the folders ", FirstNames(beside, "/")));
  }
  for (const std::string& name : {folders.train, folders.test}) {
    if (!name.empty()) read.push_back(name + "/");
  }
  if (!skipped.empty()) {
    folders.remarks.push_back(absl::StrCat("skipped in ", root.string(), ", beside ", absl::StrJoin(read, " and "),
                                           ": ", absl::StrJoin(skipped, "; ")));
  }
  return folders;
}

// Returns the name of the split's folder; "." if the set has no splits.
absl::StatusOr<std::string> FolderOf(const fs::path& root, const SplitFolders& folders, Split split) {
  if (folders.train.empty() && folders.test.empty()) return ".";
  if (split == Split::kTrain && folders.train.empty()) {
    return absl::NotFoundError(
        absl::StrCat(root.string(), " has ", folders.test, "/ but no train/, so there is no training split"));
  }
  if (split == Split::kTest && folders.test.empty()) {
    return absl::NotFoundError(absl::StrCat(root.string(), " has ", folders.train,
                                            "/ but no folder of the test split; add one of ",
                                            absl::StrJoin(kTestFolders, "/, "), "/"));
  }
  return split == Split::kTrain ? folders.train : folders.test;
}

// Assigns numbers to classes, in order of first use. Names that differ only in Unicode form are one class.
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

// Reads the parent folder of the classes. INVALID_ARGUMENT for a broken link, because it may stand for a class, which
// would then be missing.
absl::StatusOr<FolderContent> ReadClassFolders(const fs::path& folder) {
  ASSIGN_OR_RETURN(FolderContent content, ReadFolder(folder));
  if (content.broken_links.empty()) return content;
  return absl::InvalidArgumentError(
      absl::StrCat((folder / content.broken_links.front()).string(), " is a broken link"));
}

// Assigns numbers to the classes of the training split, which are its folders with images.
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
    for (const std::string& deep : own.folders) {
      std::error_code ignored;
      if (fs::is_symlink(folder / name / deep, ignored)) passed_over.AddFolderLink();
    }
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
  ASSIGN_OR_RETURN(const FolderContent content, ReadFolder(root));
  SplitFolders folders = FindSplits(root, content);
  ASSIGN_OR_RETURN(const std::string name, FolderOf(root, folders, split));
  const bool undivided = name == ".";
  const fs::path folder = undivided ? root : root / name;
  FolderClasses classes;
  if (!undivided && !folders.train.empty() && name != folders.train) {
    RETURN_IF_ERROR(AddClasses(root / folders.train, classes));
  }
  ImageList list{.undivided = undivided, .remarks = std::move(folders.remarks)};
  PassedOver passed_over;
  RETURN_IF_ERROR(AddImages(folder, classes, list.files, passed_over));
  if (const std::string words = passed_over.InWords(); !words.empty()) {
    list.remarks.push_back(absl::StrCat("skipped in ", folder.string(), ": ", words));
  }
  if (list.files.empty()) {
    const bool unlabelled = !undivided && name == folders.test && passed_over.beside() > 0;
    return absl::InvalidArgumentError(absl::StrCat(
        folder.string(), " holds no image; expected <class>/*", kImageEndings, list.remarks.empty() ? "" : "; ",
        absl::StrJoin(list.remarks, "; "),
        unlabelled ? "; if its images have no labels, put labelled ones into val/<class>/, which is then read" : ""));
  }
  list.labels = std::move(classes).Take();
  return MakeImageFiles(folder, std::move(list));
}

}  // namespace vitrine
