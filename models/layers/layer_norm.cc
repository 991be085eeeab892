#include "models/layers/layer_norm.h"

#include <ATen/ops/layer_norm.h>

namespace vitrine {

LayerNorm::LayerNorm(int width, double epsilon, Initializer& initializer) : epsilon_(epsilon) {
  RegisterParameter("weight", weight_, initializer.Ones({width}));
  RegisterParameter("bias", bias_, initializer.Zeros({width}));
}

at::Tensor LayerNorm::Forward(const at::Tensor& x) const {
  return at::layer_norm(x, weight_.sizes(), weight_, bias_, epsilon_);
}

}  // namespace vitrine
