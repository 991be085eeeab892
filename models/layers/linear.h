// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_LINEAR_H_
#define VITRINE_MODELS_LAYERS_LINEAR_H_

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/module.h"

namespace vitrine {

// y = x W^T + b on every token.
class Linear : public Module {
 public:
  enum class Init {
    kTruncatedNormal,  // weights N(0, 0.02^2), biases 0, as timm's ViT
    kFanIn,            // weights and biases uniform within 1 / sqrt(inputs), PyTorch's default
  };
  Linear(int inputs, int outputs, bool bias, Initializer& initializer, Init init = Init::kTruncatedNormal);

  // [T, inputs] -> [T, outputs].
  at::Tensor Forward(const at::Tensor& x, bool bf16 = false) const;
  // The same for a product of matrices or a residual to read: of OperandType(x, context).
  at::Tensor ForwardOperand(const at::Tensor& x, const ForwardContext& context) const;
  // GELU of that.
  at::Tensor ForwardGelu(const at::Tensor& x, const ForwardContext& context) const;

  const at::Tensor& weight() const { return weight_; }  // [outputs, inputs]
  const at::Tensor& bias() const { return bias_; }      // [outputs], undefined without bias

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_LINEAR_H_
