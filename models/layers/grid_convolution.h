// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_GRID_CONVOLUTION_H_
#define VITRINE_MODELS_LAYERS_GRID_CONVOLUTION_H_

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/module.h"
#include "models/packed_tokens.h"

namespace vitrine {

// As GridConvolution's Forward, with weight [channels, 3, 3, channels].
at::Tensor ConvolveGrids(const PackedTokens& x, const at::Tensor& weight, const ForwardContext& context);

// Full 3x3 convolution without bias, channels to the same number of channels, over the grid of every image, zeros
// beyond its border. Prefix tokens have no place on the grid; they pass through unchanged.
class GridConvolution : public Module {
 public:
  GridConvolution(int channels, Initializer& initializer);

  // x is [T, channels], fp32 or bf16, its rows may be strided; the result is contiguous and of its
  // type.
  at::Tensor Forward(const PackedTokens& x, const ForwardContext& context) const;

 private:
  // [out, 3, 3, in]: rows, columns, then input channels, the order in which neighbours are gathered.
  at::Tensor weight_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_GRID_CONVOLUTION_H_
