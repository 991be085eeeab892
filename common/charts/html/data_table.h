// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_DATA_TABLE_H_
#define VITRINE_COMMON_CHARTS_HTML_DATA_TABLE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

enum class OutputFormat { kTable, kJson, kCsv };

// A value in a table, as JSON and as text.
struct Cell {
  nlohmann::ordered_json value;  // null: no value
  std::string text;

  static Cell Nothing() { return {nullptr, "-"}; }
  static Cell Text(std::string_view text);  // returns Nothing() if `text` is empty
  static Cell Count(int64_t count);         // returns a cell whose text has thousands separators
  // `text` is the text form of `value`.
  static Cell Number(double value, std::string text);
};

// Rows with named columns, printed as aligned text, a JSON array of objects, or CSV (RFC 4180, with a header).
class DataTable {
 public:
  struct Column {
    std::string name;     // name in JSON and CSV: "parameters"
    std::string heading;  // name in aligned text: "PARAMETERS"; empty: the column is omitted there
    bool right = false;   // true: right-aligned, for numbers
  };
  explicit DataTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Requires one cell per column.
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  std::string Print(OutputFormat format) const;
  nlohmann::ordered_json AsJson() const;
  // Returns a Markdown table of the columns that have a heading, with headings in lower case.
  std::string AsMarkdown() const;
  // Returns the text of all cells, including the cells of columns without a heading.
  std::vector<std::vector<std::string>> Texts() const;

 private:
  std::string AsText() const;
  std::string AsCsv() const;

  const std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Formats columns as wide as their widest cell; `right` marks the right-aligned columns. Every line ends with a line
// feed.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

// Formats 1234567 as "1,234,567".
std::string WithSeparators(int64_t number);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_DATA_TABLE_H_
