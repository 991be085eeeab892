// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_IMAGE_ROWS_H_
#define VITRINE_COMMON_DATA_FORMATS_IMAGE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace vitrine {

// One image of a list, as text. If a row has too few cells, the missing cells are empty.
struct ImageRow {
  std::string path;
  std::string label;
  // a word of split_names.h if the cell names a split; a cell of a flag column ("is_valid") is converted to such a word
  std::string split = {};
  int64_t line = 0;  // line number of the row's start, from 1
};

struct ImageRows {
  std::vector<ImageRow> rows = {};
  std::string split_column = {};  // name of the column of splits; empty: there is none
};

// Parses a list of images, with or without a header, in CSV or with one JSON object per line; see OpenCsv. `extension`
// is the extension of the list's file, such as ".jsonl". INVALID_ARGUMENT names the line, but not the file.
absl::StatusOr<ImageRows> ReadImageRows(const std::string& text, const std::string& extension);

// Passes each row to `take`, without storing the rows. Returns the name of the column of splits. If `labelled` is
// false, a column of labels is not required. After an error, the rows passed so far are invalid.
absl::StatusOr<std::string> ForEachImageRow(const std::string& text, const std::string& extension, bool labelled,
                                            absl::FunctionRef<void(ImageRow row)> take);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_IMAGE_ROWS_H_
