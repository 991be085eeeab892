// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_LOCAL_PATCH_INTERACTION_H_
#define VITRINE_MODELS_LAYERS_LOCAL_PATCH_INTERACTION_H_

#include "models/layers/batch_norm.h"
#include "models/layers/depthwise_convolution.h"
#include "models/layers/layer_norm.h"

namespace vitrine {

// XCiT's local patch interaction, with its pre-norm and without its residual: neighbours of the grid exchange what
// attention over channels cannot, DW(BN(GELU(DW(LN(x))))), DW a depthwise 3x3 convolution.
class LocalPatchInteraction : public Module {
 public:
  LocalPatchInteraction(int width, double norm_epsilon, Initializer& initializer);

  // x is [T, width] without prefix tokens; so is the result.
  at::Tensor Forward(const PackedTokens& x, const ForwardContext& context) const;

 private:
  LayerNorm norm_;
  DepthwiseConvolution first_;
  BatchNorm batch_norm_;
  DepthwiseConvolution second_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_LOCAL_PATCH_INTERACTION_H_
