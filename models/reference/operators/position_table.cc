// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/position_table.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/grid_interpolation.h"

namespace vitrine {
at::Tensor TableFor(const at::Tensor& table, Grid from, Grid to, int prefix_rows,
                    const GridInterpolations& interpolations, int others) {
  if (to == from && others == 0) return table;
  at::Tensor cells = table.slice(0, prefix_rows);
  if (to != from) cells = at::matmul(interpolations.To(to, table.device()), cells);
  if (others == 0) return at::cat({table.slice(0, 0, prefix_rows), cells});
  return at::cat({table.slice(0, 0, prefix_rows), at::zeros({others, table.size(1)}, table.options()), cells});
}

at::Tensor GridInterpolations::To(Grid to, const at::Device& device) const {
  const at::NoGradGuard no_grad;
  const auto make = [&] {
    const std::vector<float> values = InterpolationMatrix(resize_, from_, to);
    at::Tensor matrix = at::empty({to.cells(), from_.cells()}, at::kFloat);
    std::copy(values.begin(), values.end(), matrix.data_ptr<float>());
    return std::pair(matrix.to(device), matrix.numel() * int64_t{sizeof(float)});
  };
  return kept_.For(to, make).to(device);  // the model may have moved to another device since the matrix was cached
}

}  // namespace vitrine
