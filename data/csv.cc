// SPDX-License-Identifier: Apache-2.0
#include "data/csv.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "data/file.h"
#include "data/picture_files.h"

namespace vitrine {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Reads one row after the other.
class Reader {
 public:
  Reader(std::string_view text, char separator) : text_(text), separator_(separator) {
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) text_.remove_prefix(kByteOrderMark.size());
  }

  // False at the end.
  absl::StatusOr<bool> Next(CsvRow& row) {
    while (AtLineEnd()) {
      if (text_.empty()) return false;
      SkipLineEnd();
    }
    row = {.line = line_};
    while (true) {
      row.cells.emplace_back();
      RETURN_IF_ERROR(ReadCell(row.cells.back()));
      if (AtLineEnd()) return true;
      text_.remove_prefix(1);  // the separator
    }
  }

 private:
  bool AtLineEnd() const { return text_.empty() || text_[0] == '\n' || text_.substr(0, 2) == "\r\n" || text_ == "\r"; }
  void SkipLineEnd() {
    ++line_;
    text_.remove_prefix(text_.size() > 1 && text_[0] == '\r' ? 2 : 1);
  }

  absl::Status ReadCell(std::string& cell) {
    if (text_.empty() || text_[0] != '"') {
      while (!AtLineEnd() && text_[0] != separator_) Take(cell);
      return absl::OkStatus();
    }
    const int64_t begun = line_;
    text_.remove_prefix(1);
    while (!text_.empty()) {
      if (text_[0] == '\n') ++line_;
      if (text_[0] == '"') {
        text_.remove_prefix(1);
        if (AtLineEnd() || text_[0] == separator_) return absl::OkStatus();
        if (text_[0] != '"') return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": text behind a quote"));
      }
      Take(cell);
    }
    return absl::InvalidArgumentError(absl::StrCat("line ", begun, ": the quote is not closed"));
  }

  void Take(std::string& cell) {
    cell += text_[0];
    text_.remove_prefix(1);
  }

  std::string_view text_;
  const char separator_;
  int64_t line_ = 1;
};

struct Columns {
  size_t path = 0, label = 1;
};

// Where the first row names the columns, these.
std::optional<Columns> NamedColumns(const CsvRow& row) {
  constexpr std::array kPaths = {"path", "file", "filename", "file_name", "image"};
  constexpr std::array kLabels = {"label", "class"};
  std::optional<size_t> path, label;
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const std::string name = absl::AsciiStrToLower(absl::StripAsciiWhitespace(row.cells[i]));
    if (!path && std::find(kPaths.begin(), kPaths.end(), name) != kPaths.end()) path = i;
    if (!label && std::find(kLabels.begin(), kLabels.end(), name) != kLabels.end()) label = i;
  }
  if (!path || !label) return std::nullopt;
  return Columns{*path, *label};
}

// By value where all are numbers: "9" before "10".
std::vector<std::string> SortedLabels(const std::map<std::string, int>& labels) {
  std::vector<std::string> sorted;
  std::map<std::string, int64_t> values;
  for (const auto& [label, unused] : labels) {
    sorted.push_back(label);
    int64_t value = 0;
    if (absl::SimpleAtoi(label, &value)) values.emplace(label, value);
  }
  if (values.size() == sorted.size()) {
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto& a, const auto& b) { return values.at(a) < values.at(b); });
  }
  return sorted;
}

}  // namespace

absl::StatusOr<std::vector<CsvRow>> ParseCsv(std::string_view text, char separator) {
  Reader reader(text, separator);
  std::vector<CsvRow> rows;
  CsvRow row;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(row));
    if (!more) return rows;
    rows.push_back(std::move(row));
  }
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenCsv(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  const auto wrong = [&](int64_t line, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " line ", line, ": ", what));
  };
  absl::StatusOr<std::vector<CsvRow>> rows = ParseCsv(text);
  if (!rows.ok()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " ", rows.status().message()));
  Columns columns;
  if (const auto named = rows->empty() ? std::nullopt : NamedColumns(rows->front())) {
    columns = *named;
    rows->erase(rows->begin());
  }
  if (rows->empty()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " lists no picture"));

  std::map<std::string, int> numbers;
  std::map<std::string, int64_t> lines;
  const auto cell = [](const CsvRow& row, size_t column) {
    return column < row.cells.size() ? std::string(absl::StripAsciiWhitespace(row.cells[column])) : std::string();
  };
  for (const CsvRow& row : *rows) {
    const std::string picture = cell(row, columns.path), label = cell(row, columns.label);
    if (picture.empty() || label.empty()) return wrong(row.line, "expected a path and a label, as in cat/1.jpg,cat");
    const auto [known, added] = lines.emplace(picture, row.line);
    if (!added) return wrong(row.line, absl::StrCat(picture, " stands in line ", known->second, " already"));
    numbers.emplace(label, 0);
  }
  std::vector<std::string> labels = SortedLabels(numbers);
  for (size_t i = 0; i < labels.size(); ++i) numbers[labels[i]] = static_cast<int>(i);
  std::vector<LabelledFile> files;
  for (const CsvRow& row : *rows) files.push_back({cell(row, columns.path), numbers.at(cell(row, columns.label))});
  return MakePictureFiles(path.parent_path(), std::move(files), std::move(labels));
}

}  // namespace vitrine
