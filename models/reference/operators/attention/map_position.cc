// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/attention/map_position.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <numeric>

#include "models/position_encodings.h"
#include "models/reference/float_arrays.h"

namespace vitrine {

at::Tensor MapPosition::Logits(const at::Tensor& scores) const {
  const at::Tensor encoding = key_positions.slice(0, 0, scores.size(-1)).to(scores.device());  // [keys, m - q]
  const at::Tensor weights = weight.slice(-1, -encoding.size(1)).view({-1, encoding.size(1)});
  const at::Tensor g = at::matmul(weights, encoding.t()).unsqueeze(1);  // [maps, 1, keys]
  // NOTE: the bias cancels in the softmax. Adding 0 * bias keeps it in the autograd graph, with gradient zero.
  return Scaled(scores) + g + 0 * bias.view({-1, 1, 1});
}

at::Tensor MapPosition::Scaled(const at::Tensor& scores) const {
  return scores * weight.sum(-1).view({-1, 1, 1});
}

double MapPosition::Scale() const {
  const float* weights = weight.const_data_ptr<float>();
  return std::accumulate(weights, weights + weight.numel(), 0.0);
}

at::Tensor MapPosition::KeyOffsets(int64_t keys) const {
  const int64_t channels = key_positions.size(1);
  const float* key_weights = weight.const_data_ptr<float>() + weight.numel() - channels;
  at::Tensor offsets = at::empty({1, 1, 1, keys}, at::kFloat);
  for (int64_t key = 0; key < keys; ++key) {
    const float* encoding = key_positions.const_data_ptr<float>() + key * channels;
    offsets.data_ptr<float>()[key] = std::inner_product(encoding, encoding + channels, key_weights, 0.0f);
  }
  return offsets;
}

at::Tensor KeyPositions(int64_t tokens, int64_t channels) {
  return TensorOf(KeyEncoding(tokens, channels));
}

}  // namespace vitrine
