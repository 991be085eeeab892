// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/position_rows.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/grid_interpolation.h"
namespace vitrine::engine {
namespace {

constexpr int kFeatures = 32;  // of each coordinate

}  // namespace

std::vector<float> TableRows(cpu::View<const float> table, Grid from, Grid to) {
  const size_t columns = static_cast<size_t>(table.columns);
  std::vector<float> rows(static_cast<size_t>(1 + to.cells()) * columns, 0.0f);
  std::copy_n(table.Row(0), columns, rows.begin());
  float* out = rows.data() + columns;
  const std::vector<Taps> across = CubicTaps(from.columns, to.columns);
  for (const Taps& y : CubicTaps(from.rows, to.rows)) {
    for (const Taps& x : across) {
      for (size_t i = 0; i < y.weights.size(); ++i) {
        for (size_t j = 0; j < x.weights.size(); ++j) {
          const int64_t cell = (y.first + static_cast<int64_t>(i)) * from.columns + x.first + static_cast<int64_t>(j);
          const float* const values = table.Row(1 + cell);
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
  const auto features = [](int place, int count) {
    const double v = 2 * std::numbers::pi * (place + 1) / (count + 1e-6);
    std::vector<float> values;
    for (int k = 0; k < kFeatures; ++k) {
      const int pair = k / 2;
      const double angle = v / std::pow(10000.0, 2.0 * pair / kFeatures);
      values.push_back(static_cast<float>(k % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
    return values;
  };
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(grid.cells() * weight.rows));
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      const std::vector<float> y = features(row, grid.rows), x = features(column, grid.columns);
      for (int64_t output = 0; output < weight.rows; ++output) {
        const float* const w = weight.Row(output);
        double sum = bias[output];
        for (int k = 0; k < kFeatures; ++k) {
          sum += double{w[k]} * y[static_cast<size_t>(k)] + double{w[kFeatures + k]} * x[static_cast<size_t>(k)];
        }
        rows.push_back(static_cast<float>(sum));
      }
    }
  }
  return rows;
}

std::vector<float> KeyOffsets(const std::vector<float>& map, int64_t keys) {
  const int64_t channels = static_cast<int64_t>(map.size());
  const int64_t q = 2 * ((channels + 3) / 4), width = channels - q;
  std::vector<float> offsets;
  for (int64_t key = 0; key < keys; ++key) {
    double sum = 0;
    for (int64_t c = 0; c < width; ++c) {
      const int64_t pair = c / 2;
      const double angle =
          static_cast<double>(key) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(q));
      sum += map[static_cast<size_t>(q + c)] * static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
    offsets.push_back(static_cast<float>(sum));
  }
  return offsets;
}

}  // namespace vitrine::engine
