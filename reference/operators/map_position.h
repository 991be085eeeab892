// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_MAP_POSITION_H_
#define VITRINE_REFERENCE_OPERATORS_MAP_POSITION_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// map_pos of KV+Pos attention: a linear layer m -> 1 with bias on [score_ij + P_ijc], c = 0..m-1, P the positional
// tensor of KeyPositions(). With weights w it computes s score_ij + f(i) + g(j) + b, where s is the sum of w and g(j)
// its part on the channels of the key position times their encoding; f(i) and b are equal along a row and cancel in the
// softmax. So
//   softmax_j(map_pos(score)) = softmax_j(s score_ij + g(j)),
// and that is what this gives: one scalar and one value per key, never a tensor [B, h, n, n, m].
struct MapPosition {
  // Of one map that all heads share [m] and [1]; otherwise [heads, m] and [heads].
  at::Tensor weight;
  at::Tensor bias;           // cancels; the published models store it
  at::Tensor key_positions;  // [keys, m - q]; constant

  // scores [..., heads, n, keys] -> s score + g, what the softmax sees; equal to the published form but for terms that
  // cancel. Differentiable; the bias takes part with gradient zero. As many keys as there are positions, or fewer.
  at::Tensor Logits(const at::Tensor& scores) const;
  // s score alone: symmetric wherever the scores are.
  at::Tensor Scaled(const at::Tensor& scores) const;

  // s and g [1, 1, 1, keys] as constants on the CPU, for a library's fused attention. One shared map only.
  double Scale() const;
  at::Tensor KeyOffsets(int64_t keys) const;
};

// KeyEncoding as a tensor.
at::Tensor KeyPositions(int64_t tokens, int64_t channels);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_MAP_POSITION_H_
