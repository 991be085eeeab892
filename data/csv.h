// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_CSV_H_
#define VITRINE_DATA_CSV_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

struct CsvRow {
  std::vector<std::string> cells = {};
  int64_t line = 0;  // that it begins on, from 1
};

// RFC 4180: cells may stand in double quotes, which double inside, and blanks around them. Lines end with "\n", "\r\n"
// or "\r"; empty ones are passed over, and so is a byte order mark. INVALID_ARGUMENT names the line: a quote that is
// not closed, or text behind one.
absl::StatusOr<std::vector<CsvRow>> ParseCsv(std::string_view text, char separator = ',');

// Pictures that a CSV file lists, separated by commas, semicolons or tabs: a path and a label in each row. Paths are
// relative to the file's folder and as ListedFile (data/file_names.h) finds them. A first row that names the columns,
// as pandas, fastai and HuggingFace do, may put them anywhere; without it the path is the first column that has a
// picture's ending and the label the one behind it. In FILE.jsonl each line is a JSON object that names them. Classes
// are the labels that occur, in Unicode's form NFC, sorted: by value where all are numbers, else by bytes. Both splits
// are the whole file. Whether a picture is there shows when it is read.
//
// INVALID_ARGUMENT names the file and the line: a header without known names, too few columns, an empty path or label,
// a path twice; or no rows.
absl::StatusOr<std::unique_ptr<Dataset>> OpenCsv(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_DATA_CSV_H_
