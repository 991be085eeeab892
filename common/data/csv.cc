// SPDX-License-Identifier: Apache-2.0
#include "common/data/csv.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "common/data/file.h"
#include "common/data/file_names.h"
#include "common/data/folder.h"
#include "common/data/formats/image_files.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Reads one row at a time.
class Reader {
 public:
  Reader(std::string_view text, char separator) : text_(text), separator_(separator) {
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) text_.remove_prefix(kByteOrderMark.size());
  }

  // Returns false if there are no more rows.
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
      text_.remove_prefix(1);  // removes the separator
    }
  }

 private:
  bool AtLineEnd() const { return text_.empty() || text_[0] == '\n' || text_[0] == '\r'; }
  void SkipLineEnd() {
    ++line_;
    text_.remove_prefix(text_.starts_with("\r\n") ? 2 : 1);
  }
  void SkipBlanks() {
    while (separator_ != ' ' && !text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
  }
  bool BeginsWithQuote() const {
    const size_t begin = separator_ == ' ' ? 0 : text_.find_first_not_of(' ');
    return begin < text_.size() && text_[begin] == '"';
  }

  absl::Status ReadCell(std::string& cell) {
    if (!BeginsWithQuote()) {
      while (!AtLineEnd() && text_[0] != separator_) Take(cell);
      return absl::OkStatus();
    }
    const int64_t begun = line_;
    SkipBlanks();
    text_.remove_prefix(1);
    while (!text_.empty()) {
      if (text_[0] == '\n') ++line_;
      if (text_[0] == '"') {
        text_.remove_prefix(1);
        if (text_.empty() || text_[0] != '"') {
          SkipBlanks();
          if (AtLineEnd() || text_[0] == separator_) return absl::OkStatus();
          return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": text after a closing quote"));
        }
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

// Indices of the path and label columns.
struct Columns {
  size_t path = 0, label = 1;
};

// Accepted column names, the clearest first; PlainName is compared, and plurals are accepted.
constexpr std::array kPathNames = {"path",       "file_path",  "image_path", "img_path", "file", "file_name",
                                   "image_file", "image_name", "image",      "img",      "name", "fname",
                                   "fn",         "picture",    "photo",      "uri"};
constexpr std::array kLabelNames = {"label",       "class",      "target",      "category", "class_name",
                                    "class_label", "label_name", "target_name", "tag",      "y"};

// Converts "File Names" to "filenames".
std::string PlainName(absl::string_view cell) {
  const std::string lower = absl::AsciiStrToLower(absl::StripAsciiWhitespace(cell));
  return absl::StrReplaceAll(lower, {{"_", ""}, {"-", ""}, {" ", ""}});
}

std::optional<size_t> FindColumn(const CsvRow& header, absl::Span<const char* const> names) {
  for (const char* name : names) {
    const std::string plain = PlainName(name);
    const std::string plural = plain.back() == 's'                       ? plain + "es"
                               : plain.back() == 'y' && plain.size() > 1 ? plain.substr(0, plain.size() - 1) + "ies"
                                                                         : plain + "s";
    for (size_t i = 0; i < header.cells.size(); ++i) {
      const std::string cell = PlainName(header.cells[i]);
      if (cell == plain || cell == plural) return i;
    }
  }
  return std::nullopt;
}

// Finds the columns from a header row. If there are two columns and only one has a known name, the other column is
// taken for the missing name.
std::optional<Columns> NamedColumns(const CsvRow& row) {
  const std::optional<size_t> path = FindColumn(row, kPathNames), label = FindColumn(row, kLabelNames);
  if (path && label) return Columns{*path, *label};
  if (row.cells.size() != 2 || (!path && !label)) return std::nullopt;
  return path ? Columns{*path, 1 - *path} : Columns{1 - *label, *label};
}

// Finds the columns from the first cell that is an image's file name. An index column may come before it.
std::optional<Columns> ColumnsOfImages(const CsvRow& row) {
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const std::filesystem::path path = std::string(absl::StripAsciiWhitespace(row.cells[i]));
    if (IsImageEnding(path.extension().string())) return Columns{i, i + 1 < row.cells.size() || i == 0 ? i + 1 : i - 1};
  }
  return std::nullopt;
}

// Rows of the list, and which columns have paths and labels.
struct Listed {
  std::vector<CsvRow> rows;
  Columns columns;
};

// Removes the header if there is one. INVALID_ARGUMENT lists the known names if the first row is a header without any
// of them (only the second row has an image's name).
absl::StatusOr<Listed> WithoutHeader(std::vector<CsvRow> rows) {
  Listed listed{.rows = std::move(rows), .columns = {}};
  if (listed.rows.empty()) return listed;
  const CsvRow& first = listed.rows.front();
  if (const auto images = ColumnsOfImages(first)) {
    listed.columns = *images;
    return listed;
  }
  if (const auto named = NamedColumns(first)) {
    listed.columns = *named;
  } else if (listed.rows.size() > 1 && ColumnsOfImages(listed.rows[1])) {
    return absl::InvalidArgumentError(absl::StrCat("line ", first.line, ": the header has \"",
                                                   absl::StrJoin(first.cells, "\", \""),
                                                   "\"; name the column of paths ", absl::StrJoin(kPathNames, ", "),
                                                   ", the column of labels ", absl::StrJoin(kLabelNames, ", ")));
  } else {
    return listed;
  }
  listed.rows.erase(listed.rows.begin());
  return listed;
}

bool HaveAsManyCells(const std::vector<CsvRow>& rows, size_t cells) {
  return std::all_of(rows.begin(), rows.end(), [&](const CsvRow& row) { return row.cells.size() == cells; });
}

// Parses the text with the first separator that gives columns of paths and labels.
absl::StatusOr<Listed> ReadSeparated(const std::string& text) {
  for (const char separator : {',', ';', '\t', '|', ' '}) {
    absl::StatusOr<std::vector<CsvRow>> rows = ParseCsv(text, separator);
    if (!rows.ok() || rows->empty() || rows->front().cells.size() < 2) continue;
    const std::optional<Columns> images = ColumnsOfImages(rows->front());
    // Paths and labels may contain blanks. Blanks separate columns only if every row has equally many: two columns if
    // there is no header.
    if (separator == ' ' &&
        (!HaveAsManyCells(*rows, images ? 2 : rows->front().cells.size()) || (images && images->path != 0))) {
      continue;
    }
    if (images || NamedColumns(rows->front())) return WithoutHeader(*std::move(rows));
  }
  ASSIGN_OR_RETURN(std::vector<CsvRow> rows, ParseCsv(text));
  return WithoutHeader(std::move(rows));
}

// Converts a JSON value to text, a number to its digits. Returns "" for lists, objects and null.
std::string CellOf(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : std::string();
}

// Parses one JSON object per line, like in HuggingFace's metadata.jsonl.
absl::StatusOr<Listed> ReadJsonLines(const std::string& text) {
  Listed listed;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat("line ", number, ": no JSON object"));
    CsvRow names{.line = number}, values{.line = number};
    for (const auto& [name, value] : json.items()) {
      names.cells.push_back(name);
      values.cells.push_back(CellOf(value));
    }
    const std::optional<size_t> path = FindColumn(names, kPathNames), label = FindColumn(names, kLabelNames);
    if (!path || !label) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number,
                                                     ": expected a path and a label, as in "
                                                     "{\"file_name\": \"1.jpg\", \"label\": \"cat\"}"));
    }
    listed.rows.push_back({.cells = {values.cells[*path], values.cells[*label]}, .line = number});
  }
  return listed;
}

// Sorts labels by value if all are numbers ("9" before "10"), else by bytes.
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
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  const auto wrong = [&](int64_t line, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " line ", line, ": ", what));
  };
  absl::StatusOr<Listed> listed = path.extension() == ".jsonl" ? ReadJsonLines(text) : ReadSeparated(text);
  if (!listed.ok()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " ", listed.status().message()));
  const auto& [rows, columns] = *listed;
  if (rows.empty()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " lists no image"));

  std::map<std::string, int> numbers;
  std::map<std::string, int64_t> lines;
  std::vector<std::string> row_labels;
  ImageList list{.undivided = true};
  const auto cell = [](const CsvRow& row, size_t column) {
    return column < row.cells.size() ? std::string(absl::StripAsciiWhitespace(row.cells[column])) : std::string();
  };
  for (const CsvRow& row : rows) {
    const std::string image = cell(row, columns.path), label = Composed(cell(row, columns.label));
    if (image.empty() || label.empty()) {
      return wrong(row.line,
                   "expected a path and a label, as in cat/1.jpg,cat, separated by a comma, semicolon, tab, bar or "
                   "blank");
    }
    list.files.push_back({ListedFile(path.parent_path(), image), 0});
    const auto [known, added] = lines.emplace(list.files.back().path, row.line);
    if (!added) return wrong(row.line, absl::StrCat(image, " is in line ", known->second, " already"));
    numbers.emplace(label, 0);
    row_labels.push_back(label);
  }
  list.labels = SortedLabels(numbers);
  for (size_t i = 0; i < list.labels.size(); ++i) numbers[list.labels[i]] = static_cast<int>(i);
  for (size_t i = 0; i < row_labels.size(); ++i) list.files[i].label = numbers.at(row_labels[i]);
  return MakeImageFiles(path.parent_path(), std::move(list));
}

}  // namespace vitrine
