// SPDX-License-Identifier: Apache-2.0
#include "models/layers/linear.h"

#include <cmath>

#include "models/layers/cpu_kernels.h"
#include "models/layers/elementwise.h"
#include "models/layers/gemm.h"

namespace vitrine {

Linear::Linear(int inputs, int outputs, bool bias, Initializer& initializer, Init init) {
  const double bound = 1 / std::sqrt(inputs);
  const bool fan_in = init == Init::kFanIn;
  RegisterParameter(
      "weight", weight_,
      fan_in ? initializer.Uniform({outputs, inputs}, bound) : initializer.TruncatedNormal({outputs, inputs}, 0.02));
  if (bias) {
    RegisterParameter("bias", bias_, fan_in ? initializer.Uniform({outputs}, bound) : initializer.Zeros({outputs}));
  }
}

at::Tensor Linear::Forward(const at::Tensor& x, bool bf16) const {
  return AffineMap(x, weight_, bias_, bf16);
}

at::Tensor Linear::ForwardOperand(const at::Tensor& x, const ForwardContext& context) const {
  return AffineMap(x, weight_, bias_, context.bf16, OperandType(x, context));
}

at::Tensor Linear::ForwardGelu(const at::Tensor& x, const ForwardContext& context) const {
  if (UsesOwnDerivatives(x, context)) return Gelu(ForwardOperand(x, context), context);
  return AffineGelu(x, weight_, bias_, context.bf16);
}

}  // namespace vitrine
