// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_CSV_LIST_H_
#define VITRINE_COMMON_DATA_FORMATS_CSV_LIST_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Opens the images listed in a CSV file: a path and a label per row, separated by commas, semicolons, tabs, bars or
// single blanks. Paths are relative to the file's folder and resolved by ListedFile (common/data/file_names.h). With a
// header row (for example from pandas, fastai or HuggingFace) the columns may be anywhere. Without a header, the path
// is the first column with an image's extension, and the label is the next column. In FILE.jsonl each line is a JSON
// object whose keys are the known column names. Missing images are reported when they are read.
//
// A column of splits ("split", "is_valid") divides the rows by the words of common/data/split_names.h. Without such a
// column, or if none of its cells names a split, each split is the whole file. Classes are the distinct labels in
// Unicode form NFC: first the labels of the training split, then the labels that only the test split has. Each of these
// two groups is sorted, by value if all labels of the group are numbers, else by bytes.
//
// INVALID_ARGUMENT, with file and line: a header has no known names; a row has too few columns, or an empty path or
// label; the text is not UTF-8; a path is repeated; a row has no split although other rows have one. INVALID_ARGUMENT:
// there are no rows. NOT_FOUND: no row has the split.
absl::StatusOr<std::unique_ptr<Dataset>> OpenCsv(const std::filesystem::path& path, Split split);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_CSV_LIST_H_
