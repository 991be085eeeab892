// SPDX-License-Identifier: Apache-2.0
#include "models/attention_distance.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/hypot.h>

namespace vitrine {
namespace {

// Distance between the centres of any two patches, in cells: [cells, cells] fp64.
at::Tensor Distances(Grid grid) {
  const at::Tensor cells = at::arange(grid.cells(), at::kDouble);
  const at::Tensor rows = (cells / grid.columns).floor();
  const at::Tensor columns = cells - rows * grid.columns;
  return at::hypot(rows.unsqueeze(1) - rows.unsqueeze(0), columns.unsqueeze(1) - columns.unsqueeze(0));
}

}  // namespace

at::Tensor AttentionDistance(const at::Tensor& weights, Grid grid, int prefix_tokens, int cell, bool keep_class_mass) {
  const at::Tensor magnitudes = weights.to(at::kDouble).abs().slice(1, prefix_tokens);  // [h, cells, n]
  const at::Tensor to_patches = magnitudes.slice(2, prefix_tokens);                     // [h, cells, cells]
  const at::Tensor mass = (keep_class_mass ? magnitudes : to_patches).sum(2);
  return ((to_patches * Distances(grid)).sum(2) / mass).mean(1) * cell;
}

}  // namespace vitrine
