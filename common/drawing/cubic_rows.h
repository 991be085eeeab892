// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_CUBIC_ROWS_H_
#define VITRINE_COMMON_DRAWING_CUBIC_ROWS_H_

#include <array>
#include <span>
#include <vector>

#include "common/imaging/geometry.h"

namespace vitrine {

// Enlarges a map, row by row: interpolates between the centres of its cells with Keys' cubic filter (a = -0.75). Beyond
// the border, the cells of the border repeat. The results may lie outside the range of the cells' values.
class CubicRows {
 public:
  // `values`: row-major, [rows, columns]; they must outlive this object. `size`: size of the enlarged map.
  CubicRows(int rows, int columns, std::span<const float> values, Size size);

  // Returns row y of the enlarged map. The row is valid until the next call. Rows in ascending order are the fastest.
  std::span<const float> Row(int y);

 private:
  // The weights of four consecutive cells at a pixel; `first` is the first of these cells, and may be outside the map.
  struct Taps {
    int first;
    std::array<float, 4> weights;
  };
  // Returns the cells and weights for the centre of `pixel`, in a row or column in which `pixels` pixels show `cells`
  // cells.
  static Taps TapsAt(int pixel, int cells, int pixels);

  // Returns a row of the map, enlarged horizontally.
  const float* Widened(int row);

  const int rows_, columns_;
  const std::span<const float> values_;
  const Size size_;
  std::vector<Taps> across_;
  std::array<std::vector<float>, 4> widened_;           // row r is in element r % 4
  std::array<int, 4> widened_rows_ = {-1, -1, -1, -1};  // the row in each element; -1: none
  std::vector<float> padded_, enlarged_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_CUBIC_ROWS_H_
