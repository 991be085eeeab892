// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/layers.h"

#include <ATen/ops/layer_norm.h>

#include <cmath>
#include <vector>

#include "models/reference/operators/gemm.h"

namespace vitrine::sequences {

Linear::Linear(int inputs, int outputs, bool bias, Initializer& initializer) {
  const double bound = 1 / std::sqrt(inputs);
  RegisterParameter("weight", weight_, initializer.Uniform({outputs, inputs}, bound), /*decays=*/true);
  if (bias) RegisterParameter("bias", bias_, initializer.Uniform({outputs}, bound), /*decays=*/false);
}

at::Tensor Linear::Forward(const at::Tensor& x, bool bf16) const {
  return AffineMap(x, weight_, bias_, bf16);
}

LayerNorm::LayerNorm(int width, double epsilon, Initializer& initializer) : epsilon_(epsilon) {
  RegisterParameter("weight", weight_, initializer.Ones({width}), /*decays=*/false);
  RegisterParameter("bias", bias_, initializer.Zeros({width}), /*decays=*/false);
}

at::Tensor LayerNorm::Forward(const at::Tensor& x) const {
  return at::layer_norm(x, weight_.sizes(), weight_, bias_, epsilon_);
}

MapPositionLayer::MapPositionLayer(int64_t keys, int channels, int heads, Initializer& initializer) {
  const double bound = 1 / std::sqrt(channels);
  const std::vector<int64_t> shape =
      heads == 0 ? std::vector<int64_t>{channels} : std::vector<int64_t>{heads, channels};
  RegisterParameter("weight", weight_, initializer.Uniform(shape, bound), /*decays=*/true);
  RegisterParameter("bias", bias_, initializer.Uniform({heads == 0 ? 1 : heads}, bound), /*decays=*/false);
  if (!weight_.is_meta()) key_positions_ = KeyPositions(keys, channels);
}

}  // namespace vitrine::sequences
