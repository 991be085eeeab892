// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/csv_list.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/data/file_names.h"
#include "common/data/folder.h"
#include "common/data/formats/image_files.h"
#include "common/data/formats/image_rows.h"
#include "common/data/split_names.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

using Labels = std::set<std::string>;

absl::Status LineFault(const fs::path& list, const ImageRow& row, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(list.string(), " line ", row.line, ": ", fault));
}

// Adds the labels to `sorted`, by value if all are numbers ("9" before "10"), else by bytes.
void AddSorted(const Labels& labels, std::vector<std::string>& sorted) {
  std::vector<std::pair<int64_t, std::string>> numbers;
  for (const std::string& label : labels) {
    int64_t value = 0;
    if (absl::SimpleAtoi(label, &value)) numbers.emplace_back(value, label);
  }
  if (numbers.size() < labels.size()) {
    sorted.insert(sorted.end(), labels.begin(), labels.end());
    return;
  }
  std::sort(numbers.begin(), numbers.end());
  for (auto& [value, label] : numbers) sorted.push_back(std::move(label));
}

// Returns OK if at least one path of the list has an image's extension or is an existing file, else an error.
// Likely causes of the error are a header in the first row, or paths without extensions.
absl::Status CheckPaths(const fs::path& list, const std::vector<ImageRow>& rows) {
  for (const ImageRow& row : rows) {
    const fs::path file = list.parent_path() / row.path;
    if (IsImageEnding(file.extension().string()) || IsRegularFile(file)) return absl::OkStatus();
  }
  return LineFault(list, rows.front(),
                   absl::StrCat("there is no file \"", EscapedBytes(rows.front().path),
                                "\", and no path of the list has an image's ending (", kImageEndings,
                                "); write the names of files, such as 1.jpg; a header has the names path and label"));
}

// Resolves paths and normalises labels.
absl::Status Complete(const fs::path& list, std::vector<ImageRow>& rows) {
  std::map<std::string, int64_t> lines;
  for (ImageRow& row : rows) {
    const std::string written(WithoutBlanks(row.path));
    row.path = ListedFile(list.parent_path(), row.path);
    row.label = Composed(WithoutBlanks(row.label));
    if (row.path.empty() || row.label.empty()) {
      return LineFault(list, row,
                       "expected a path and a label, as in cat/1.jpg,cat, separated by a comma, semicolon, tab, bar or "
                       "blank");
    }
    const fs::path file = list.parent_path() / row.path;
    if (!IsUtf8(row.label) || (!IsUtf8(row.path) && !IsRegularFile(file))) {
      return LineFault(list, row, "the list is not UTF-8; save it as UTF-8");
    }
    const auto [known, added] = lines.emplace(file.lexically_normal().string(), row.line);
    if (!added) return LineFault(list, row, absl::StrCat(written, " is in line ", known->second, " already"));
  }
  return CheckPaths(list, rows);
}

// Returns the split of each row; empty if the rows are not divided into splits.
absl::StatusOr<std::vector<NamedSplit>> SplitsOf(const fs::path& list, const ImageRows& all) {
  std::vector<NamedSplit> splits;
  const ImageRow* unknown = nullptr;
  for (const ImageRow& row : all.rows) {
    if (const std::optional<NamedSplit> split = SplitOfWord(row.split)) {
      splits.push_back(*split);
    } else if (unknown == nullptr) {
      unknown = &row;
    }
  }
  if (splits.empty() || unknown == nullptr) return splits;
  return LineFault(list, *unknown,
                   absl::StrCat("\"", unknown->split, "\" in the column ", all.split_column, " is no split; expected ",
                                kSplitWords));
}

// Rows of the chosen split and rows of the training split. Classes of the training split are numbered first.
struct Divided {
  std::vector<const ImageRow*> train, chosen;
  std::vector<std::string> remarks;
};

absl::StatusOr<Divided> Divide(const fs::path& list, const ImageRows& all, const std::vector<NamedSplit>& splits,
                               Split split) {
  Divided divided;
  const bool has_test = std::find(splits.begin(), splits.end(), NamedSplit::kTest) != splits.end();
  const NamedSplit test = has_test ? NamedSplit::kTest : NamedSplit::kVal;
  int64_t skipped = 0;
  for (size_t i = 0; i < splits.size(); ++i) {
    const ImageRow* row = &all.rows[i];
    if (splits[i] == NamedSplit::kTrain) divided.train.push_back(row);
    if (splits[i] == (split == Split::kTrain ? NamedSplit::kTrain : test)) divided.chosen.push_back(row);
    if (splits[i] == NamedSplit::kVal && has_test) ++skipped;
  }
  if (divided.chosen.empty()) {
    return absl::NotFoundError(absl::StrCat("the column ", all.split_column, " of ", list.string(), " has no row of ",
                                            split == Split::kTrain ? "train" : "test or val",
                                            ", so the split is missing"));
  }
  if (skipped > 0) {
    divided.remarks.push_back(absl::StrCat("skipped in ", list.string(), ": ", skipped, skipped == 1 ? " row" : " rows",
                                           " of val; the test split is test"));
  }
  return divided;
}

Divided Undivided(const fs::path& list, const ImageRows& all) {
  Divided divided;
  for (const ImageRow& row : all.rows) divided.chosen.push_back(&row);
  if (!all.split_column.empty()) {
    divided.remarks.push_back(absl::StrCat(list.string(), ": the column ", all.split_column, " is ignored, because \"",
                                           all.rows.front().split, "\" is no split (", kSplitWords, ")"));
  }
  return divided;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenCsv(const fs::path& path, Split split) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  absl::StatusOr<ImageRows> all = ReadImageRows(text, path.extension().string());
  if (!all.ok()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " ", all.status().message()));
  if (all->rows.empty()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " lists no image"));
  RETURN_IF_ERROR(Complete(path, all->rows));
  ASSIGN_OR_RETURN(const std::vector<NamedSplit> splits, SplitsOf(path, *all));
  Divided divided = Undivided(path, *all);
  if (!splits.empty()) {
    ASSIGN_OR_RETURN(divided, Divide(path, *all, splits, split));
  }

  ImageList list{.undivided = splits.empty(), .remarks = std::move(divided.remarks)};
  Labels trained, others;
  for (const ImageRow* row : divided.train) trained.insert(row->label);
  for (const ImageRow* row : divided.chosen) {
    if (!trained.contains(row->label)) others.insert(row->label);
  }
  AddSorted(trained, list.labels);
  AddSorted(others, list.labels);
  std::map<std::string, int> numbers;
  for (size_t i = 0; i < list.labels.size(); ++i) numbers[list.labels[i]] = static_cast<int>(i);
  for (const ImageRow* row : divided.chosen) list.files.push_back({row->path, numbers.at(row->label)});
  return MakeImageFiles(path.parent_path(), std::move(list));
}

}  // namespace vitrine
