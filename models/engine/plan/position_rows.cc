// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/position_rows.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

#include "models/grid_interpolation.h"
#include "models/position_encodings.h"

namespace vitrine::engine {

std::vector<float> TableRows(cpu::View<const float> table, int64_t prefix, Grid from, Grid to, GridResize resize) {
  const size_t columns = static_cast<size_t>(table.columns), kept = static_cast<size_t>(prefix) * columns;
  std::vector<float> rows(static_cast<size_t>(prefix + to.cells()) * columns, 0.0f);
  std::copy_n(table.Row(0), kept, rows.begin());
  float* out = rows.data() + kept;
  const std::vector<Taps> across = TapsOf(resize, from.columns, to.columns);
  for (const Taps& y : TapsOf(resize, from.rows, to.rows)) {
    for (const Taps& x : across) {
      for (size_t i = 0; i < y.weights.size(); ++i) {
        for (size_t j = 0; j < x.weights.size(); ++j) {
          const int64_t cell = (y.first + static_cast<int64_t>(i)) * from.columns + x.first + static_cast<int64_t>(j);
          const float* const values = table.Row(prefix + cell);
          const float weight = y.weights[i] * x.weights[j];
          for (size_t c = 0; c < columns; ++c) out[c] += weight * values[c];
        }
      }
      out += columns;
    }
  }
  return rows;
}

std::vector<float> FourierRows(cpu::View<const float> weight, const float* bias, Grid grid) {
  const FloatArray down = FourierEncoding(grid.rows), across = FourierEncoding(grid.columns);
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(grid.cells() * weight.rows));
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      const std::span<const float> y = down[row], x = across[column];
      for (int64_t output = 0; output < weight.rows; ++output) {
        const float* const w = weight.Row(output);
        double sum = bias[output];
        for (size_t k = 0; k < y.size(); ++k) sum += double{w[k]} * y[k] + double{w[y.size() + k]} * x[k];
        rows.push_back(static_cast<float>(sum));
      }
    }
  }
  return rows;
}

std::vector<float> KeyOffsets(const std::vector<float>& map, int64_t keys) {
  const FloatArray encoding = KeyEncoding(keys, static_cast<int64_t>(map.size()));
  std::vector<float> offsets;
  for (int64_t key = 0; key < keys; ++key) {
    const std::span<const float> places = encoding[key];
    offsets.push_back(std::inner_product(places.begin(), places.end(), map.end() - std::ssize(places), 0.0f));
  }
  return offsets;
}

}  // namespace vitrine::engine
