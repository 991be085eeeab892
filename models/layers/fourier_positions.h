// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_FOURIER_POSITIONS_H_
#define VITRINE_MODELS_LAYERS_FOURIER_POSITIONS_H_

#include "models/forward_context.h"
#include "models/layers/linear.h"
#include "models/packed_tokens.h"

namespace vitrine {

// Fourier features of one coordinate, for every of its `count` places: [count, 32] fp32. The coordinate runs to 2 pi,
// v = 2 pi (place + 1) / (count + 1e-6); channel k is sin(v / T_k) for even k and cos(v / T_k) for odd k, with
// T_k = 10000^(2 floor(k / 2) / 32).
at::Tensor FourierFeatures(int count);

// 32 features of the row, then 32 of the column, of every cell: [cells, 64] fp32.
at::Tensor FourierFeaturesOf(Grid grid);

// XCiT's positions: 32 features of the row, then 32 of the column, times a matrix. No table, so any grid will do.
class FourierPositions : public Module {
 public:
  FourierPositions(int width, Initializer& initializer);

  // The positions of a grid: [cells, width].
  at::Tensor For(Grid grid, const ForwardContext& context) const;

  // `patches` [cells of all images, width] plus their positions, as tokens without prefix. On a CPU without gradients
  // rows of zeros may follow the last token, see RowsFor.
  PackedTokens Add(const at::Tensor& patches, std::vector<Grid> grids, const ForwardContext& context) const;

 private:
  Linear projection_;  // 64 -> width
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_FOURIER_POSITIONS_H_
