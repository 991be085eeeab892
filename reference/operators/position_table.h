// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_POSITION_TABLE_H_
#define VITRINE_REFERENCE_OPERATORS_POSITION_TABLE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kept_for_grids.h"
#include "models/token_layout.h"

namespace vitrine {

// Matrices [cells of `to`, cells of `from`] of the bicubic interpolation with antialiasing from one grid to others,
// which depend on the grids alone. Those used last are kept within kMostBytes; see KeptForGrids. Thread-safe.
class GridInterpolations {
 public:
  static constexpr int64_t kMostBytes = int64_t{16} << 20;

  explicit GridInterpolations(Grid from) : from_(from) {}
  at::Tensor To(Grid to, const at::Device& device) const;
  int64_t bytes() const { return kept_.bytes(); }

 private:
  const Grid from_;
  mutable KeptForGrids<at::Tensor> kept_{kMostBytes};
};

// A learned vector per position, prefix tokens first, [prefix + cells of `from`, width], for another grid: [prefix +
// cells of `to`, width]. Other grids are reached by bicubic interpolation with antialiasing of the grid's part in fp32,
// as timm's resample_abs_pos_embed; prefix rows are kept. Differentiable.
at::Tensor TableFor(const at::Tensor& table, Grid from, Grid to, int prefix_tokens,
                    const GridInterpolations& interpolations);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_POSITION_TABLE_H_
