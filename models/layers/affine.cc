// SPDX-License-Identifier: Apache-2.0
#include "models/layers/affine.h"

#include <ATen/ops/addcmul.h>

namespace vitrine {

Affine::Affine(int width, double scale, Initializer& initializer) {
  RegisterParameter("weight", weight_, initializer.Constant({width}, scale));
  RegisterParameter("bias", bias_, initializer.Zeros({width}));
}

at::Tensor Affine::Forward(const at::Tensor& x) const {
  return at::addcmul(bias_, x, weight_);
}

}  // namespace vitrine
