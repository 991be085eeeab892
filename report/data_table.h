// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_DATA_TABLE_H_
#define VITRINE_REPORT_DATA_TABLE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

enum class OutputFormat { kTable, kJson, kCsv };

// One value of a table: for programs, and for people.
struct Cell {
  nlohmann::ordered_json value;  // null where there is nothing to say
  std::string text;

  static Cell Nothing() { return {nullptr, "-"}; }
  static Cell Text(std::string_view text);  // empty text is nothing
  static Cell Count(int64_t count);         // people get thousands separated
  // `text` is what people see of `value`.
  static Cell Number(double value, std::string text);
};

// Rows under named columns, as an aligned text, a JSON array of objects, or CSV (RFC 4180, with a header).
class DataTable {
 public:
  struct Column {
    std::string name;     // for programs: "parameters"
    std::string heading;  // for people: "PARAMETERS"; empty: not in the aligned text
    bool right = false;   // numbers stand at the right
  };
  explicit DataTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  std::string Print(OutputFormat format) const;
  nlohmann::ordered_json AsJson() const;
  // What people see of the rows, the columns without a heading included.
  std::vector<std::vector<std::string>> Texts() const;

 private:
  std::string AsText() const;
  std::string AsCsv() const;

  const std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Columns as wide as their widest cell; `right` says which are numbers. Lines end with a line feed.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

// 1234567 as "1,234,567".
std::string WithSeparators(int64_t number);

}  // namespace vitrine

#endif  // VITRINE_REPORT_DATA_TABLE_H_
