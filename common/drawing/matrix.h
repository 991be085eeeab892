// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_MATRIX_H_
#define VITRINE_COMMON_DRAWING_MATRIX_H_

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/drawing/colour_range.h"
#include "common/imaging/image.h"

namespace vitrine {

// A matrix to draw, for example attention weights of queries (rows) and keys. Values are row-major, [rows, columns].
struct MatrixFigure {
  int rows = 0;
  int columns = 0;
  std::span<const float> values;
  bool diverging = false;     // true: the range is symmetric around 0, even without negative values
  std::string title = {};     // above the matrix, on one line
  std::string note = {};      // drawn below the title in smaller letters
  std::string row_axis = {};  // name of the axis: "queries"
  std::string column_axis = {};
  std::optional<ColourRange> range = {};  // for drawings that share a range; none: range of the values
};

// Returns the matrix as a PNG file: one square per value, row 0 on top, numbered and named axes, the title, and a
// colour bar with numbers at its ends. The longer side of the matrix has at least 384 pixels. Colours follow
// colour_range.h. INVALID_ARGUMENT: sides outside 1 to 8192, or a non-finite value. Thread-safe.
absl::StatusOr<std::string> DrawMatrix(const MatrixFigure& figure);

// Returns an image of only the matrix's squares, to be put into a sheet (sheet.h). Each square has a whole number of
// pixels, so the longer side of the image may be below `side` pixels. If it would be above `side`, the image is reduced
// to `side`.
absl::StatusOr<Image> ComposeMatrix(const MatrixFigure& figure, int side);

// Returns the squares of ComposeMatrix with a name left of each row and below each column. If neighbouring names would
// touch, draws only every second, fifth or tenth name, and so on. Requires one name per row and column.
Image WithNames(const Image& squares, std::span<const std::string> rows, std::span<const std::string> columns);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_MATRIX_H_
