// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/tiny_imagenet.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/data/file.h"
#include "common/data/folder.h"
#include "common/data/formats/image_files.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Label of each class; the key is its WordNet id.
using Classes = std::map<std::string, int>;

absl::Status LineFault(const fs::path& file, size_t line, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": line ", line + 1, " ", fault));
}

absl::StatusOr<Classes> ReadClasses(const fs::path& file) {
  ASSIGN_OR_RETURN(const std::vector<std::string> wnids, ReadLines(file));
  Classes classes;
  for (size_t line = 0; line < wnids.size(); ++line) {
    const std::string& wnid = wnids[line];
    // Rejects characters that change a path, because the id becomes part of a path.
    if (wnid.empty() || wnid.find_first_of("/.\t ") != std::string::npos) {
      return LineFault(file, line, "is no WordNet id");
    }
    if (!classes.emplace(wnid, static_cast<int>(line)).second) {
      return LineFault(file, line, absl::StrCat("names ", wnid, " again"));
    }
  }
  if (classes.empty()) return absl::InvalidArgumentError(absl::StrCat(file.string(), " names no class"));
  return classes;
}

absl::StatusOr<std::vector<std::string>> ReadableLabels(const fs::path& words_file, const Classes& classes) {
  std::vector<std::string> labels(classes.size());
  for (const auto& [wnid, label] : classes) labels[label] = wnid;
  if (!IsRegularFile(words_file)) return labels;
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(words_file));
  for (const std::string& line : lines) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    const auto found = classes.find(fields[0]);
    if (found != classes.end() && fields.size() == 2 && !fields[1].empty()) labels[found->second] = fields[1];
  }
  return labels;
}

absl::StatusOr<std::vector<LabelledFile>> TrainingFiles(const fs::path& train, const Classes& classes) {
  std::map<int, std::string> in_order;
  for (const auto& [wnid, label] : classes) in_order[label] = wnid;
  std::vector<LabelledFile> files;
  for (const auto& [label, wnid] : in_order) {
    const std::string folder = absl::StrCat(wnid, "/images/");
    ASSIGN_OR_RETURN(const FolderContent content, ReadFolder(train / folder));
    for (const std::string& image : content.images) files.push_back({folder + image, label});
  }
  return files;
}

absl::StatusOr<std::vector<LabelledFile>> AnnotatedFiles(const fs::path& val, const Classes& classes) {
  const fs::path annotations = val / "val_annotations.txt";
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(annotations));
  ASSIGN_OR_RETURN(const FolderContent content, ReadFolder(val / "images"));
  const std::vector<std::string>& images = content.images;
  const std::set<std::string> present(images.begin(), images.end());
  std::map<std::string, int> annotated;
  for (size_t line = 0; line < lines.size(); ++line) {
    const std::vector<std::string> fields = absl::StrSplit(lines[line], '\t');
    if (fields.size() < 2) return LineFault(annotations, line, "has no image and class, separated by a tab");
    const auto found = classes.find(fields[1]);
    if (found == classes.end()) {
      return LineFault(annotations, line, absl::StrCat("has the class ", fields[1], ", which wnids.txt does not list"));
    }
    if (!present.contains(fields[0])) {
      return LineFault(annotations, line, absl::StrCat("names ", fields[0], ", which is not in val/images"));
    }
    if (!annotated.emplace(fields[0], found->second).second) {
      return LineFault(annotations, line, absl::StrCat("names ", fields[0], " again"));
    }
  }
  std::vector<LabelledFile> files;
  for (const std::string& image : images) {
    const auto found = annotated.find(image);
    if (found == annotated.end()) {
      return absl::InvalidArgumentError(absl::StrCat(annotations.string(), " has no line for images/", image));
    }
    files.push_back({"images/" + image, found->second});
  }
  return files;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenTinyImageNet(const fs::path& directory, Split split) {
  const fs::path root = IsFolder(directory / "tiny-imagenet-200") ? directory / "tiny-imagenet-200" : directory;
  ASSIGN_OR_RETURN(const Classes classes, ReadClasses(root / "wnids.txt"));
  ASSIGN_OR_RETURN(std::vector<std::string> labels, ReadableLabels(root / "words.txt", classes));
  const fs::path folder = root / (split == Split::kTrain ? "train" : "val");
  ASSIGN_OR_RETURN(std::vector<LabelledFile> files,
                   split == Split::kTrain ? TrainingFiles(folder, classes) : AnnotatedFiles(folder, classes));
  if (files.empty()) return absl::InvalidArgumentError(absl::StrCat(folder.string(), " holds no image"));
  return MakeImageFiles(folder, {.files = std::move(files), .labels = std::move(labels)});
}

}  // namespace vitrine
