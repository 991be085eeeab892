// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CONVOLUTION_BRANCH_H_
#define VITRINE_MODELS_LAYERS_CONVOLUTION_BRANCH_H_

#include <memory>

#include "models/layers/batch_norm.h"
#include "models/layers/grid_convolution.h"
#include "models/layers/linear.h"

namespace vitrine {

// What the channels of a block go through that do not attend: a 3x3 convolution over the grid of every image, and what
// EIT's ablations (Table 7) and LSRA put around it. Class tokens have no place on the grid; they pass through
// unchanged.
class ConvolutionBranch : public GridConvolution {
 public:
  enum class Form {
    kConv,           // W * x
    kConvConv,       // W3 * (W2 * (W * x))
    kGeluConv,       // W * GELU(linear(x))
    kBnRelu,         // ReLU(BatchNorm(W * x)), statistics over the grids' tokens
    kGeluConvLinear  // linear(W * GELU(x)), LSRA's
  };
  ConvolutionBranch(int channels, Form form, Initializer& initializer);

  // `tokens` are [T, channels], their rows may be strided.
  at::Tensor Mix(const PackedTokens& tokens, const ForwardContext& context) const;

 private:
  // Of tokens without class tokens.
  at::Tensor OnGrid(const PackedTokens& cells, const ForwardContext& context) const;

  const Form form_;
  std::unique_ptr<GridConvolution> second_, third_;  // kConvConv
  std::unique_ptr<Linear> linear_;                   // kGeluConv, kGeluConvLinear
  std::unique_ptr<BatchNorm> batch_norm_;            // kBnRelu
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CONVOLUTION_BRANCH_H_
