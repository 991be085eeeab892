// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_POSITION_TABLE_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_POSITION_TABLE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/grid_interpolation.h"
#include "models/kept_for_grids.h"
#include "models/token_layout.h"

namespace vitrine {

// LRU cache of matrices [cells of `to`, cells of `from`] that interpolate from the grid `from` to another grid `to`
// with the method `resize`. Holds at most kMostBytes, or only the newest matrix if this matrix alone is larger (see
// GridCache). Thread-safe.
class GridInterpolations {
 public:
  static constexpr int64_t kMostBytes = int64_t{16} << 20;

  explicit GridInterpolations(Grid from, GridResize resize = GridResize::kAntialiased) : from_(from), resize_(resize) {}
  at::Tensor To(Grid to, const at::Device& device) const;
  int64_t bytes() const { return kept_.bytes(); }

 private:
  const Grid from_;
  const GridResize resize_;
  mutable GridCache<at::Tensor> kept_{kMostBytes};
};

// Resizes a learned table [prefix_rows + cells of `from`, width] to another grid: [prefix_rows + others + cells of
// `to`, width]. Copies the rows of prefix tokens, which come first. Adds `others` rows of zeros after them, for prefix
// tokens without a position. Interpolates the rows of the grid in fp32 with `interpolations`. Differentiable.
at::Tensor TableFor(const at::Tensor& table, Grid from, Grid to, int prefix_rows,
                    const GridInterpolations& interpolations, int others = 0);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_POSITION_TABLE_H_
