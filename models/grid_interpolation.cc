// SPDX-License-Identifier: Apache-2.0
#include "models/grid_interpolation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace vitrine {
namespace {

// Returns the cubic convolution kernel of Keys (1981) at x; 0 for |x| >= 2.
double Cubic(double x, double kA = -0.5) {
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return kA * (((x - 5) * x + 8) * x - 4);
  return 0;
}

}  // namespace

std::vector<Taps> CubicTaps(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double stretch = std::max(1.0, scale);
  std::vector<Taps> taps(static_cast<size_t>(to));
  for (int place = 0; place < to; ++place) {
    const double center = scale * (place + 0.5);
    const int first = std::max(0, static_cast<int>(std::lround(center - 2 * stretch)));
    const int end = std::min(from, static_cast<int>(std::lround(center + 2 * stretch)));
    std::vector<double> weights;
    double sum = 0;
    for (int i = first; i < end; ++i) {
      weights.push_back(Cubic((i + 0.5 - center) / stretch));
      sum += weights.back();
    }
    Taps& tap = taps[static_cast<size_t>(place)];
    tap.first = first;
    for (const double weight : weights) tap.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

std::vector<Taps> TapsOf(GridResize resize, int from, int to) {
  if (resize == GridResize::kAntialiased) return CubicTaps(from, to);
  // PyTorch takes DINOv2's scale as a double, but computes positions in fp32. So the scale is rounded to fp32 here too.
  const double offset = resize == GridResize::kBicubicOffset ? 0.1 : 0;
  const auto scale = static_cast<float>(from / (to + offset));
  std::vector<Taps> taps;
  for (int place = 0; place < to; ++place) {
    const float center = scale * (static_cast<float>(place) + 0.5F) - 0.5F;
    const int below = static_cast<int>(std::floor(center));
    const int first = std::clamp(below - 1, 0, from - 1), last = std::clamp(below + 2, 0, from - 1);
    Taps tap{first, std::vector<float>(static_cast<size_t>(last - first + 1))};
    for (int i = below - 1; i <= below + 2; ++i) {
      const int seen = std::clamp(i, 0, from - 1);  // positions beyond the border have the border's value
      tap.weights[static_cast<size_t>(seen - first)] += static_cast<float>(Cubic(i - double{center}, -0.75));
    }
    taps.push_back(std::move(tap));
  }
  return taps;
}

std::vector<float> InterpolationMatrix(GridResize resize, Grid from, Grid to) {
  const std::vector<Taps> down = TapsOf(resize, from.rows, to.rows);
  const std::vector<Taps> across = TapsOf(resize, from.columns, to.columns);
  std::vector<float> matrix(static_cast<size_t>(to.cells() * from.cells()), 0.0f);
  float* row = matrix.data();
  for (const Taps& y : down) {
    for (const Taps& x : across) {
      for (size_t i = 0; i < y.weights.size(); ++i) {
        float* const cells = row + (y.first + static_cast<int64_t>(i)) * from.columns + x.first;
        for (size_t j = 0; j < x.weights.size(); ++j) cells[j] = y.weights[i] * x.weights[j];
      }
      row += from.cells();
    }
  }
  return matrix;
}

}  // namespace vitrine
