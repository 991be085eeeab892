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

// Column that divides the rows into splits. Each cell names a split, or each cell is true or false.
struct SplitColumn {
  size_t index = 0;
  std::string name;          // name of the column, as written in the list
  const char* if_true = "";  // split of a row whose cell is true; empty: the cell names the split
  const char* if_false = "";
};

struct Columns {
  size_t path = 0, label = 1;
  std::optional<SplitColumn> split = {};
};

// Accepted column names, in order of preference. They are compared by PlainName, and plurals are also accepted.
constexpr std::array kPathNames = {"path",       "file_path",  "image_path", "img_path", "file", "file_name",
                                   "image_file", "image_name", "image",      "img",      "name", "fname",
                                   "fn",         "picture",    "photo",      "uri"};
constexpr std::array kLabelNames = {"label",       "class",      "target",      "category", "class_name",
                                    "class_label", "label_name", "target_name", "tag",      "y"};

constexpr std::array kSplitNames = {"split", "subset", "partition", "data_set", "set"};

// Name of a column whose cells are true or false, and the split for each of these values.
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

// Returns the name of a row's split, given the row's cell in `column`. If the column's values are true (or 1) and false
// (or 0), converts the value to the name of a split. Returns any other cell unchanged, without surrounding blanks.
std::string SplitInCell(const SplitColumn& column, const std::string& cell) {
  const std::string word(WithoutBlanks(cell));
  if (*column.if_true == '\0') return word;
  const std::string lower = absl::AsciiStrToLower(word);
  if (lower == "true" || lower == "1") return column.if_true;
  return lower == "false" || lower == "0" ? column.if_false : word;
}

// Finds the columns of a header row by their names. If there are two columns and only one has a known name, takes the
// other column as the missing path or label. Labels may be missing if `labelled` is false.
std::optional<Columns> NamedColumns(const CsvRow& row, bool labelled) {
  const std::optional<size_t> path = FindColumn(row, kPathNames), label = FindColumn(row, kLabelNames);
  if (path && (label || !labelled)) return Columns{*path, label.value_or(*path), FindSplitColumn(row)};
  if (row.cells.size() != 2 || (!path && !label)) return std::nullopt;
  return path ? Columns{*path, 1 - *path, {}} : Columns{1 - *label, *label, {}};
}

// Finds the columns of a row without a header. The path is the first cell that is an image's file name; an index column
// may come before it.
std::optional<Columns> ColumnsOfImages(const CsvRow& row) {
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const std::filesystem::path path = WithoutBlanks(row.cells[i]);
    if (IsImageEnding(path.extension().string())) {
      return Columns{i, i + 1 < row.cells.size() || i == 0 ? i + 1 : i - 1, {}};
    }
  }
  return std::nullopt;
}

// Separator and columns of a table.
struct Layout {
  char separator = ',';
  bool header = false;  // true: the first row is a header
  Columns columns = {};
};

// Returns the layout of a table, from its first two rows, or from all rows if there are fewer. INVALID_ARGUMENT lists
// the known names if only the second row has the file name of an image, because the first row must then be a header
// without known names.
absl::StatusOr<Layout> LayoutOf(const std::vector<CsvRow>& rows, char separator, bool labelled) {
  if (rows.empty()) return Layout();
  const CsvRow& first = rows.front();
  if (const auto images = ColumnsOfImages(first)) return Layout{separator, false, *images};
  if (const auto named = NamedColumns(first, labelled)) return Layout{separator, true, *named};
  if (rows.size() < 2 || !ColumnsOfImages(rows[1])) return Layout{.separator = separator};
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", first.line, ": the header has \"", absl::StrJoin(first.cells, "\", \""), "\"; name the column of paths ",
      absl::StrJoin(kPathNames, ", "),
      labelled ? absl::StrCat(", the column of labels ", absl::StrJoin(kLabelNames, ", ")) : std::string()));
}

// First rows of a table.
struct Beginning {
  std::vector<CsvRow> rows;  // the first two rows
  bool even = true;          // true: every row has as many cells as the first
};

// Parses the whole table, but stops after the first row if that row has only one cell.
absl::StatusOr<Beginning> ReadBeginning(const std::string& text, char separator) {
  Beginning beginning;
  std::vector<CsvRow>& rows = beginning.rows;
  RETURN_IF_ERROR(ForEachCsvRow(text, separator, [&](CsvRow row) {
    if (!rows.empty() && row.cells.size() != rows.front().cells.size()) beginning.even = false;
    if (rows.size() < 2) rows.push_back(std::move(row));
    return rows.front().cells.size() > 1;
  }));
  return beginning;
}

// Finds the first separator that gives columns of paths and labels.
absl::StatusOr<Layout> FindLayout(const std::string& text, bool labelled) {
  for (const char separator : {',', ';', '\t', '|', ' '}) {
    const absl::StatusOr<Beginning> beginning = ReadBeginning(text, separator);
    if (!beginning.ok() || beginning->rows.empty()) continue;
    const CsvRow& first = beginning->rows.front();
    if (first.cells.size() < 2) continue;
    const std::optional<Columns> images = ColumnsOfImages(first);
    // Paths and labels may contain blanks. So blanks separate columns only if all rows have the same number of cells.
    // Without a header, this number must be two.
    if (separator == ' ' && (!beginning->even || (images && (first.cells.size() != 2 || images->path != 0)))) continue;
    if (images || NamedColumns(first, labelled)) return LayoutOf(beginning->rows, separator, labelled);
  }
  std::vector<CsvRow> rows;
  RETURN_IF_ERROR(ForEachCsvRow(text, ',', [&rows](CsvRow row) {
    rows.push_back(std::move(row));
    return rows.size() < 2;
  }));
  return LayoutOf(rows, ',', labelled);
}

constexpr char kJsonLine[] = "each line holds one image, as in {\"file_name\": \"1.jpg\", \"label\": \"cat\"}";

// Converts a JSON value to text; a number becomes its digits. Returns "" for lists, objects and null.
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
absl::StatusOr<std::string> ReadJsonLines(absl::string_view text, bool labelled,
                                          absl::FunctionRef<void(ImageRow row)> take) {
  std::string split_column;
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
    if (!path || values[*path].empty() || (labelled && (!label || values[*label].empty()))) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected a path", labelled ? " and a label; " : "; ", kJsonLine));
    }
    ImageRow row{.path = values[*path], .label = label ? values[*label] : std::string(), .line = number};
    if (split) {
      split_column = split->name;
      row.split = SplitInCell(*split, values[split->index]);
    }
    take(std::move(row));
  }
  return split_column;
}

}  // namespace

absl::StatusOr<std::string> ForEachImageRow(const std::string& text, const std::string& extension, bool labelled,
                                            absl::FunctionRef<void(ImageRow row)> take) {
  const absl::string_view bare = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(bare, "[") && nlohmann::json::accept(bare.begin(), bare.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("is a JSON array; write one object a line, as FILE.jsonl: ", kJsonLine));
  }
  if (IsJson(bare, extension)) return ReadJsonLines(text, labelled, take);
  ASSIGN_OR_RETURN(const Layout layout, FindLayout(text, labelled));
  const Columns& columns = layout.columns;
  const std::optional<SplitColumn>& split = columns.split;
  const auto cell = [](const CsvRow& row, size_t column) {
    return column < row.cells.size() ? row.cells[column] : std::string();
  };
  bool is_header = layout.header;
  RETURN_IF_ERROR(ForEachCsvRow(text, layout.separator, [&](const CsvRow& row) {
    if (std::exchange(is_header, false)) return true;
    take({.path = cell(row, columns.path),
          .label = cell(row, columns.label),
          .split = split ? SplitInCell(*split, cell(row, split->index)) : std::string(),
          .line = row.line});
    return true;
  }));
  return split ? split->name : std::string();
}

absl::StatusOr<ImageRows> ReadImageRows(const std::string& text, const std::string& extension) {
  ImageRows all;
  ASSIGN_OR_RETURN(all.split_column, ForEachImageRow(text, extension, /*labelled=*/true,
                                                     [&all](ImageRow row) { all.rows.push_back(std::move(row)); }));
  return all;
}

}  // namespace vitrine
