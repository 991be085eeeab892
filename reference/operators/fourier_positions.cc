// SPDX-License-Identifier: Apache-2.0
#include "reference/operators/fourier_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

#include "reference/operators/add_positions.h"

namespace vitrine {
namespace {

constexpr int kFeatures = 32;  // of each coordinate

}  // namespace

at::Tensor FourierFeatures(int count) {
  at::Tensor features = at::empty({count, kFeatures}, at::kFloat);
  float* out = features.data_ptr<float>();
  for (int place = 0; place < count; ++place) {
    const double v = 2 * std::numbers::pi * (place + 1) / (count + 1e-6);
    for (int k = 0; k < kFeatures; ++k) {
      const int pair = k / 2;
      const double angle = v / std::pow(10000.0, 2.0 * pair / kFeatures);
      *out++ = static_cast<float>(k % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return features;
}

at::Tensor FourierFeaturesOf(Grid grid) {
  const at::Tensor rows = FourierFeatures(grid.rows).unsqueeze(1).expand({grid.rows, grid.columns, kFeatures});
  const at::Tensor columns = FourierFeatures(grid.columns).expand({grid.rows, grid.columns, kFeatures});
  return at::cat({rows, columns}, 2).view({grid.cells(), 2 * kFeatures});
}

}  // namespace vitrine
