// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/data_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace vitrine {
namespace {

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// Returns a cell's value for CSV. CSV has no lists, so a list is written as the cell's text.
std::string CsvField(const Cell& cell) {
  if (cell.value.is_null()) return "";
  if (cell.value.is_string()) return CsvText(cell.value.get<std::string>());
  return CsvText(cell.value.is_structured() ? cell.text : cell.value.dump());
}

}  // namespace

Cell Cell::Text(std::string_view text) {
  if (text.empty()) return Nothing();
  const bool printable =
      std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  return {std::string(text), printable ? std::string(text) : absl::Utf8SafeCHexEscape(std::string(text))};
}

Cell Cell::Count(int64_t count) {
  return {count, WithSeparators(count)};
}

Cell Cell::Number(double value, std::string text) {
  return {value, std::move(text)};
}

std::string DataTable::Print(OutputFormat format) const {
  switch (format) {
    case OutputFormat::kJson:
      // Texts may have invalid UTF-8. It is replaced, because dump() would otherwise throw an exception.
      return AsJson().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    case OutputFormat::kCsv:
      return AsCsv();
    case OutputFormat::kTable:
      break;
  }
  return AsText();
}

nlohmann::ordered_json DataTable::AsJson() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& row : rows_) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) object[columns_[i].name] = row[i].value;
    array.push_back(std::move(object));
  }
  return array;
}

std::vector<std::vector<std::string>> DataTable::Texts() const {
  std::vector<std::vector<std::string>> texts;
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string>& cells = texts.emplace_back();
    for (const Cell& cell : row) cells.push_back(cell.text);
  }
  return texts;
}

std::string DataTable::AsText() const {
  std::vector<bool> right;
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) {
    if (column.heading.empty()) continue;
    right.push_back(column.right);
    lines[0].push_back(column.heading);
  }
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      if (!columns_[i].heading.empty()) line.push_back(row[i].text);
    }
  }
  return Aligned(lines, right);
}

std::string DataTable::AsMarkdown() const {
  const auto plain = [](const std::string& text) {
    return absl::StrReplaceAll(absl::StripAsciiWhitespace(text), {{"|", "\\|"}});
  };
  std::string head = "|", rule = "|", text;
  for (const Column& column : columns_) {
    if (column.heading.empty()) continue;
    absl::StrAppend(&head, " ", absl::AsciiStrToLower(plain(column.heading)), " |");
    absl::StrAppend(&rule, column.right ? "---:|" : "---|");
  }
  for (const std::vector<Cell>& row : rows_) {
    absl::StrAppend(&text, "|");
    for (size_t i = 0; i < row.size(); ++i) {
      if (!columns_[i].heading.empty()) absl::StrAppend(&text, " ", plain(row[i].text), " |");
    }
    absl::StrAppend(&text, "\n");
  }
  return absl::StrCat(head, "\n", rule, "\n", text);
}

std::string DataTable::AsCsv() const {
  std::string text = absl::StrJoin(
      columns_, ",", [](std::string* out, const Column& column) { absl::StrAppend(out, CsvText(column.name)); });
  absl::StrAppend(&text, "\n");
  for (const std::vector<Cell>& row : rows_) {
    absl::StrAppend(&text, absl::StrJoin(row, ",", [](std::string* out, const Cell& cell) { *out += CsvField(cell); }),
                    "\n");
  }
  return text;
}

std::string Aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", right[i] ? padding : "", row[i], right[i] ? "" : padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string WithSeparators(int64_t number) {
  std::string digits = absl::StrCat(number);
  const int64_t first = number < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

}  // namespace vitrine
