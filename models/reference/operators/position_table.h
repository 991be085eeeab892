// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_POSITION_TABLE_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_POSITION_TABLE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kept_for_grids.h"
#include "models/token_layout.h"

namespace vitrine {

// LRU cache of matrices [cells of `to`, cells of `from`] for bicubic interpolation with antialiasing from the grid
// `from` to other grids. Holds at most kMostBytes; see GridCache. Thread-safe.
class GridInterpolations {
 public:
  static constexpr int64_t kMostBytes = int64_t{16} << 20;

  explicit GridInterpolations(Grid from) : from_(from) {}
  at::Tensor To(Grid to, const at::Device& device) const;
  int64_t bytes() const { return kept_.bytes(); }

 private:
  const Grid from_;
  mutable GridCache<at::Tensor> kept_{kMostBytes};
};

// Resizes a learned table, prefix tokens first, [prefix + cells of `from`, width] to another grid: [prefix + cells of
// `to`, width]. Interpolates the rows of the grid in fp32, bicubic with antialiasing, as timm's resample_abs_pos_embed
// does; copies prefix rows. Differentiable.
at::Tensor TableFor(const at::Tensor& table, Grid from, Grid to, int prefix_tokens,
                    const GridInterpolations& interpolations);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_POSITION_TABLE_H_
