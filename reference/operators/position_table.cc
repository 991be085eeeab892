// SPDX-License-Identifier: Apache-2.0
#include "reference/operators/position_table.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>

namespace vitrine {
namespace {

// Grids whose matrices are kept. Clients choose the grids, so the number must be bounded.
constexpr size_t kMostKept = 128;

}  // namespace

at::Tensor TableFor(const at::Tensor& table, Grid from, Grid to, int prefix_tokens,
                    const GridInterpolations& interpolations) {
  if (to == from) return table;
  const at::Tensor cells = at::matmul(interpolations.To(to, table.device()), table.slice(0, prefix_tokens));
  return at::cat({table.slice(0, 0, prefix_tokens), cells});
}

at::Tensor GridInterpolations::To(Grid to, const at::Device& device) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = kept_.find({to.rows, to.columns});
  if (found != kept_.end() && found->second.device() == device) return found->second;
  const at::NoGradGuard no_grad;
  // Interpolating each unit vector gives the columns of the matrix.
  const at::Tensor units = at::eye(from_.cells(), at::kFloat).view({1, from_.cells(), from_.rows, from_.columns});
  const at::Tensor matrix = at::_upsample_bicubic2d_aa(units, {to.rows, to.columns}, /*align_corners=*/false)
                                .view({from_.cells(), to.cells()})
                                .t()
                                .contiguous()
                                .to(device);
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_[{to.rows, to.columns}] = matrix;
  return matrix;
}

}  // namespace vitrine
