// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/cubic_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vitrine {

CubicRows::CubicRows(int rows, int columns, std::span<const float> values, Size size)
    : rows_(rows),
      columns_(columns),
      values_(values),
      size_(size),
      padded_(static_cast<size_t>(columns) + 4),
      enlarged_(static_cast<size_t>(size.width)) {
  for (int x = 0; x < size.width; ++x) across_.push_back(TapsAt(x, columns, size.width));
  for (std::vector<float>& row : widened_) row.resize(static_cast<size_t>(size.width));
}

CubicRows::Taps CubicRows::TapsAt(int pixel, int cells, int pixels) {
  constexpr float kA = -0.75f;
  const double centre = (pixel + 0.5) * cells / pixels - 0.5;
  const double cell = std::floor(centre);
  const float t = static_cast<float>(centre - cell), u = 1 - t;
  Taps taps = {.first = static_cast<int>(cell) - 1, .weights = {}};
  taps.weights[0] = kA * t * u * u;
  taps.weights[1] = ((kA + 2) * t - (kA + 3)) * t * t + 1;
  taps.weights[2] = ((kA + 2) * u - (kA + 3)) * u * u + 1;
  taps.weights[3] = kA * u * t * t;
  return taps;
}

const float* CubicRows::Widened(int row) {
  const size_t place = static_cast<size_t>(row) % 4;
  std::vector<float>& widened = widened_[place];
  if (widened_rows_[place] == row) return widened.data();
  widened_rows_[place] = row;
  // Pads the row by two cells on each side, because the cells of a Taps are within columns -2 to columns_ + 1.
  const float* const cells = values_.data() + ptrdiff_t{row} * columns_;
  for (int i = 0; i < columns_ + 4; ++i) padded_[static_cast<size_t>(i)] = cells[std::clamp(i - 2, 0, columns_ - 1)];
  for (size_t x = 0; x < widened.size(); ++x) {
    const float* const from = padded_.data() + across_[x].first + 2;
    const std::array<float, 4>& weights = across_[x].weights;
    widened[x] = weights[0] * from[0] + weights[1] * from[1] + weights[2] * from[2] + weights[3] * from[3];
  }
  return widened.data();
}

std::span<const float> CubicRows::Row(int y) {
  const Taps taps = TapsAt(y, rows_, size_.height);
  const float* lines[4];
  for (int i = 0; i < 4; ++i) lines[i] = Widened(std::clamp(taps.first + i, 0, rows_ - 1));
  const auto [w0, w1, w2, w3] = taps.weights;
  float* const out = enlarged_.data();
  for (int x = 0; x < size_.width; ++x) {
    out[x] = w0 * lines[0][x] + w1 * lines[1][x] + w2 * lines[2][x] + w3 * lines[3][x];
  }
  return enlarged_;
}

}  // namespace vitrine
