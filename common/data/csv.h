// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_CSV_H_
#define VITRINE_COMMON_DATA_CSV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

struct CsvRow {
  std::vector<std::string> cells = {};
  int64_t line = 0;  // line number of the row's start, from 1
};

// Parses CSV text (RFC 4180). A cell may be in double quotes, with blanks around the quotes; a quote inside the cell is
// doubled. Lines end with "\n", "\r\n" or "\r". Empty lines and a byte order mark are ignored. INVALID_ARGUMENT for an
// unclosed quote or text after a closing quote; the message names the line.
absl::StatusOr<std::vector<CsvRow>> ParseCsv(std::string_view text, char separator = ',');
// Passes each row to `take` instead of storing all rows. Returns OK early once `take` returns false.
absl::Status ForEachCsvRow(std::string_view text, char separator, absl::FunctionRef<bool(CsvRow row)> take);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_CSV_H_
