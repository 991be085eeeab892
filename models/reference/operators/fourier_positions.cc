// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/fourier_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "models/position_encodings.h"
#include "models/reference/float_arrays.h"

namespace vitrine {

at::Tensor FourierFeatures(int count) {
  return TensorOf(FourierEncoding(count));
}

at::Tensor FourierFeaturesOf(Grid grid) {
  const at::Tensor rows = FourierFeatures(grid.rows).unsqueeze(1).expand({grid.rows, grid.columns, -1});
  const at::Tensor columns = FourierFeatures(grid.columns).expand({grid.rows, grid.columns, -1});
  return at::cat({rows, columns}, 2).view({grid.cells(), -1});
}

}  // namespace vitrine
