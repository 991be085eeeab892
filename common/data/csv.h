// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_CSV_H_
#define VITRINE_COMMON_DATA_CSV_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

struct CsvRow {
  std::vector<std::string> cells = {};
  int64_t line = 0;  // line number of the row's start, from 1
};

// Parses RFC 4180: a cell may be in double quotes, with blanks around them; a quote inside is doubled. Lines end with
// "\n", "\r\n" or "\r". Empty lines and a byte order mark are ignored. INVALID_ARGUMENT names the line: an unclosed
// quote, or text after a closing quote.
absl::StatusOr<std::vector<CsvRow>> ParseCsv(std::string_view text, char separator = ',');

// Opens the images listed in a CSV file: a path and a label per row, separated by commas, semicolons, tabs, bars or
// single blanks. Paths are relative to the file's folder and resolved by ListedFile (common/data/file_names.h). With a
// header row (for example from pandas, fastai or HuggingFace) the columns may be anywhere. Without a header, the path
// is the first column with an image's extension, and the label is the next column. In FILE.jsonl each line is a JSON
// object whose keys are the known column names. Classes are the distinct labels in Unicode form NFC, sorted by value if
// all are numbers, else by bytes. The training split and the test split are both the whole file. Missing images are
// reported when they are read.
//
// INVALID_ARGUMENT names file and line: a header without known names, too few columns, an empty path or label, a
// repeated path; or no rows.
absl::StatusOr<std::unique_ptr<Dataset>> OpenCsv(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_CSV_H_
