// SPDX-License-Identifier: Apache-2.0
#include "models/layers/position_table.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>

namespace vitrine {
namespace {

// Grids whose matrices are kept. Clients choose the grids, so the number must be bounded.
constexpr size_t kMaxInterpolations = 128;

}  // namespace

PositionTable::PositionTable(Grid grid, int prefix_tokens, at::Tensor initial)
    : grid_(grid), prefix_tokens_(prefix_tokens) {
  RegisterParameter("table", table_, std::move(initial));
}

at::Tensor PositionTable::For(Grid grid) const {
  if (grid == grid_) return table_;
  const at::Tensor cells = at::matmul(Interpolation(grid), table_.slice(0, prefix_tokens_));
  return at::cat({table_.slice(0, 0, prefix_tokens_), cells});
}

at::Tensor PositionTable::Interpolation(Grid grid) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = interpolations_.find({grid.rows, grid.columns});
  if (found != interpolations_.end() && found->second.device() == table_.device()) return found->second;
  const at::NoGradGuard no_grad;
  // Interpolating each unit vector gives the columns of the matrix.
  const at::Tensor units = at::eye(grid_.cells(), at::kFloat).view({1, grid_.cells(), grid_.rows, grid_.columns});
  const at::Tensor matrix = at::_upsample_bicubic2d_aa(units, {grid.rows, grid.columns}, /*align_corners=*/false)
                                .view({grid_.cells(), grid.cells()})
                                .t()
                                .contiguous()
                                .to(table_.device());
  if (interpolations_.size() >= kMaxInterpolations) interpolations_.clear();
  interpolations_[{grid.rows, grid.columns}] = matrix;
  return matrix;
}

}  // namespace vitrine
