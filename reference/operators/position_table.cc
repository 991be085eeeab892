// SPDX-License-Identifier: Apache-2.0
#include "reference/operators/position_table.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <vector>

#include "models/grid_interpolation.h"

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
  const std::vector<float> values = InterpolationMatrix(from_, to);
  at::Tensor matrix = at::empty({to.cells(), from_.cells()}, at::kFloat);
  std::copy(values.begin(), values.end(), matrix.data_ptr<float>());
  matrix = matrix.to(device);
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_[{to.rows, to.columns}] = matrix;
  return matrix;
}

}  // namespace vitrine
