// SPDX-License-Identifier: Apache-2.0
#include "common/data/csv.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/byte_order_mark.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Reader of CSV text, one row at a time.
class Reader {
 public:
  Reader(std::string_view text, char separator) : text_(WithoutByteOrderMark(text)), separator_(separator) {}

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

}  // namespace

absl::Status ForEachCsvRow(std::string_view text, char separator, absl::FunctionRef<bool(CsvRow row)> take) {
  Reader reader(text, separator);
  CsvRow row;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(row));
    if (!more || !take(std::move(row))) return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<CsvRow>> ParseCsv(std::string_view text, char separator) {
  std::vector<CsvRow> rows;
  RETURN_IF_ERROR(ForEachCsvRow(text, separator, [&rows](CsvRow row) {
    rows.push_back(std::move(row));
    return true;
  }));
  return rows;
}

}  // namespace vitrine
