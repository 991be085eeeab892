// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_SHADED_MATRIX_H_
#define VITRINE_COMMON_CHARTS_SHADED_MATRIX_H_

#include <string>
#include <vector>

#include "common/charts/chart.h"

namespace vitrine {

// A small matrix with named rows and columns and text in its cells.
struct ShadedMatrix {
  struct Cell {
    double shade = 0;  // -1 to 1: one colour below 0, another colour above 0, the background at 0
    std::string text = {};
    std::string tip = {};
  };
  std::string title = {};
  std::string note = {};  // drawn below the title in smaller letters
  std::string row_axis = {};
  std::string column_axis = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  std::vector<Cell> cells = {};  // row-major, [rows, columns]
};

// Returns the chart around a matrix, with room for its square cells. The matrix's longer side has `side` pixels, but
// cells are never below 16 or above 62 pixels. Names are cut as in DrawShadedMatrix.
Chart FrameOf(const ShadedMatrix& matrix, double side = 560);

// Returns the matrix as an SVG element for an HtmlPage. Names longer than 18 characters are cut, and tooltips show the
// whole name. Text is left out if cells are too small.
std::string DrawShadedMatrix(const ShadedMatrix& matrix);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_SHADED_MATRIX_H_
