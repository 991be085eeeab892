// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/image_rows.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "common/data/csv.h"
#include "common/data/folder.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Index of a column that divides the rows, and the words that its flags stand for.
struct SplitColumn {
  size_t index = 0;
  std::string name;          // as written in the list
  const char* if_true = "";  // split of a row whose cell is true; empty: the cell is the split
  const char* if_false = "";
};

struct Columns {
  size_t path = 0, label = 1;
  std::optional<SplitColumn> split = {};
};

// Accepted column names, the clearest first; PlainName is compared, and plurals are accepted.
constexpr std::array kPathNames = {"path",       "file_path",  "image_path", "img_path", "file", "file_name",
                                   "image_file", "image_name", "image",      "img",      "name", "fname",
                                   "fn",         "picture",    "photo",      "uri"};
constexpr std::array kLabelNames = {"label",       "class",      "target",      "category", "class_name",
                                    "class_label", "label_name", "target_name", "tag",      "y"};

constexpr std::array kSplitNames = {"split", "subset", "partition", "data_set", "set"};

// Columns of flags, and the splits of true and false.
struct SplitFlag {
  const char* name;
  const char* if_true;
  const char* if_false;
};
constexpr SplitFlag kSplitFlags[] = {{"is_valid", "val", "train"},      {"is_val", "val", "train"},
                                     {"is_validation", "val", "train"}, {"is_test", "test", "train"},
                                     {"is_train", "train", "test"},     {"is_training", "train", "test"}};

// Converts "File Names" to "filenames".
std::string PlainName(absl::string_view cell) {
  const std::string lower = absl::AsciiStrToLower(std::string(WithoutBlanks({cell.data(), cell.size()})));
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

std::optional<SplitColumn> FindSplitColumn(const CsvRow& header) {
  if (const auto index = FindColumn(header, kSplitNames))
    return SplitColumn{.index = *index, .name = header.cells[*index]};
  for (const SplitFlag& flag : kSplitFlags) {
    if (const auto index = FindColumn(header, {flag.name})) {
      return SplitColumn{*index, header.cells[*index], flag.if_true, flag.if_false};
    }
  }
  return std::nullopt;
}

// Returns the word that a cell of the column stands for; an unknown flag stays as it is.
std::string SplitInCell(const SplitColumn& column, const std::string& cell) {
  const std::string word(WithoutBlanks(cell));
  if (*column.if_true == '\0') return word;
  const std::string lower = absl::AsciiStrToLower(word);
  if (lower == "true" || lower == "1") return column.if_true;
  return lower == "false" || lower == "0" ? column.if_false : word;
}

// Finds the columns of a header row by their names. If there are two columns and only one has a known name, the other
// column is taken for the missing name.
std::optional<Columns> NamedColumns(const CsvRow& row) {
  const std::optional<size_t> path = FindColumn(row, kPathNames), label = FindColumn(row, kLabelNames);
  if (path && label) return Columns{*path, *label, FindSplitColumn(row)};
  if (row.cells.size() != 2 || (!path && !label)) return std::nullopt;
  return path ? Columns{*path, 1 - *path, {}} : Columns{1 - *label, *label, {}};
}

// Finds the columns from the first cell that is an image's file name. An index column may come before it.
std::optional<Columns> ColumnsOfImages(const CsvRow& row) {
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const std::filesystem::path path = WithoutBlanks(row.cells[i]);
    if (IsImageEnding(path.extension().string())) {
      return Columns{i, i + 1 < row.cells.size() || i == 0 ? i + 1 : i - 1, {}};
    }
  }
  return std::nullopt;
}

// Rows of a table, and the positions of its columns.
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

constexpr char kJsonLine[] = "each line holds one image, as in {\"file_name\": \"1.jpg\", \"label\": \"cat\"}";

// Converts a JSON value to text, a number to its digits. Returns "" for lists, objects and null.
std::string CellOf(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : std::string();
}

nlohmann::json ParseJson(absl::string_view text) {
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// Returns true if the list is JSON, by its extension or by its first line.
bool IsJson(absl::string_view text, const std::string& extension) {
  if (extension == ".jsonl" || extension == ".ndjson" || extension == ".json") return true;
  const absl::string_view first = text.substr(0, text.find('\n'));
  return absl::StartsWith(first, "{") && ParseJson(first).is_object();
}

// Parses one JSON object per line, like in HuggingFace's metadata.jsonl.
absl::StatusOr<ImageRows> ReadJsonLines(absl::string_view text) {
  ImageRows listed;
  int64_t number = 0;
  CsvRow names;  // names and columns of the previous line; almost every line repeats them
  std::optional<size_t> path, label;
  std::optional<SplitColumn> split;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const nlohmann::json json = ParseJson(line);
    if (!json.is_object())
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": no JSON object; ", kJsonLine));
    std::vector<std::string> cells, values;
    for (const auto& [name, value] : json.items()) {
      cells.push_back(name);
      values.push_back(CellOf(value));
    }
    if (cells != names.cells) {
      names.cells = std::move(cells);
      path = FindColumn(names, kPathNames);
      label = FindColumn(names, kLabelNames);
      split = FindSplitColumn(names);
    }
    if (!path || !label) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": expected a path and a label; ", kJsonLine));
    }
    ImageRow row{.path = values[*path], .label = values[*label], .line = number};
    if (split) {
      listed.split_column = split->name;
      row.split = SplitInCell(*split, values[split->index]);
    }
    listed.rows.push_back(std::move(row));
  }
  return listed;
}

}  // namespace

absl::StatusOr<ImageRows> ReadImageRows(const std::string& text, const std::string& extension) {
  const absl::string_view bare = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(bare, "[") && nlohmann::json::accept(bare.begin(), bare.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("is a JSON array; write one object a line, as FILE.jsonl: ", kJsonLine));
  }
  if (IsJson(bare, extension)) return ReadJsonLines(text);
  ASSIGN_OR_RETURN(const Listed listed, ReadSeparated(text));
  const auto& [path, label, split] = listed.columns;
  ImageRows all;
  if (split) all.split_column = split->name;
  const auto cell = [](const CsvRow& row, size_t column) {
    return column < row.cells.size() ? row.cells[column] : std::string();
  };
  for (const CsvRow& row : listed.rows) {
    all.rows.push_back({.path = cell(row, path), .label = cell(row, label), .line = row.line});
    if (split) all.rows.back().split = SplitInCell(*split, cell(row, split->index));
  }
  return all;
}

}  // namespace vitrine
