// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/position_table.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/grid_interpolation.h"

namespace vitrine {
at::Tensor TableFor(const at::Tensor& table, Grid from, Grid to, int prefix_tokens,
                    const GridInterpolations& interpolations) {
  if (to == from) return table;
  const at::Tensor cells = at::matmul(interpolations.To(to, table.device()), table.slice(0, prefix_tokens));
  return at::cat({table.slice(0, 0, prefix_tokens), cells});
}

at::Tensor GridInterpolations::To(Grid to, const at::Device& device) const {
  const at::NoGradGuard no_grad;
  const auto make = [&] {
    const std::vector<float> values = InterpolationMatrix(from_, to);
    at::Tensor matrix = at::empty({to.cells(), from_.cells()}, at::kFloat);
    std::copy(values.begin(), values.end(), matrix.data_ptr<float>());
    return std::pair(matrix.to(device), matrix.numel() * int64_t{sizeof(float)});
  };
  return kept_.For(to, make).to(device);  // the model may have moved to another device since the matrix was cached
}

}  // namespace vitrine
