// SPDX-License-Identifier: Apache-2.0
#include "models/layers/fourier_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "models/layers/add_positions.h"

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

FourierPositions::FourierPositions(int width, Initializer& initializer)
    : projection_(2 * kFeatures, width, /*bias=*/true, initializer, Linear::Init::kFanIn) {
  RegisterChild("projection", projection_);
}

at::Tensor FourierFeaturesOf(Grid grid) {
  const at::Tensor rows = FourierFeatures(grid.rows).unsqueeze(1).expand({grid.rows, grid.columns, kFeatures});
  const at::Tensor columns = FourierFeatures(grid.columns).expand({grid.rows, grid.columns, kFeatures});
  return at::cat({rows, columns}, 2).view({grid.cells(), 2 * kFeatures});
}

at::Tensor FourierPositions::For(Grid grid, const ForwardContext& context) const {
  return projection_.Forward(FourierFeaturesOf(grid).to(projection_.weight().device()), context.bf16);
}

PackedTokens FourierPositions::Add(const at::Tensor& patches, std::vector<Grid> grids,
                                   const ForwardContext& context) const {
  const PackedTokens x{patches, TokenLayout::Make(std::move(grids), /*prefix_tokens=*/0)};
  return {AddPositions(x, RowsFor(*x.layout, patches), [&](Grid grid) { return For(grid, context); }), x.layout};
}

}  // namespace vitrine
