// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_LAYER_NORM_H_
#define VITRINE_MODELS_LAYERS_LAYER_NORM_H_

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/module.h"

namespace vitrine {

// (x - mean) / sqrt(variance + epsilon) weight + bias of every row of x [T, width], in `type`; weight and bias [width].
// On a CPU by our own kernels, with gradients too.
at::Tensor NormalizeLayer(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
                          const ForwardContext& context, at::ScalarType type = at::kFloat);

// Layer normalisation of every token with scale and shift, which start at 1 and 0.
class LayerNorm : public Module {
 public:
  LayerNorm(int width, double epsilon, Initializer& initializer);

  // [T, width] -> [T, width].
  at::Tensor Forward(const at::Tensor& x) const;
  // The same; on a CPU by our own kernels, about four times as fast, with gradients too.
  at::Tensor Forward(const at::Tensor& x, const ForwardContext& context) const;
  // The same for a product of matrices to read: of OperandType(x, context).
  at::Tensor ForwardOperand(const at::Tensor& x, const ForwardContext& context) const;

  const at::Tensor& weight() const { return weight_; }  // [width]
  const at::Tensor& bias() const { return bias_; }      // [width]
  double epsilon() const { return epsilon_; }

 private:
  const double epsilon_;
  at::Tensor weight_;
  at::Tensor bias_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_LAYER_NORM_H_
