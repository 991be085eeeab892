// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_MAP_POSITION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_MAP_POSITION_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// map_pos of KV+Pos attention: a linear layer from m values to one, with bias. For query i and key j, its inputs are
// the m numbers score_ij + P_ijc, c = 0..m-1, where P is the positional tensor (see KeyEncoding). With weights w it
// computes s * score_ij + f(i) + g(j) + b. s is the sum of w. g(j) is the dot product of row j of KeyEncoding with the
// last channels of w. f(i) and b are constant along a row and cancel in the softmax. So
//   softmax_j(map_pos(score)) = softmax_j(s * score_ij + g(j)).
// This class computes the right side from one number s and a number g(j) per key, without a tensor [B, h, n, n, m].
struct MapPosition {
  // [m] and [1] if all heads share one map; otherwise [heads, m] and [heads].
  at::Tensor weight;
  at::Tensor bias;           // cancels out, but published models store it
  at::Tensor key_positions;  // [keys, m - q]; constant

  // Returns s * score_ij + g(j), the input of the softmax, for `scores` [..., heads, n, keys]. s is the sum of
  // `weight`, and g(j) is the offset of key j. The result differs from map_pos(score) only by terms that cancel in the
  // softmax. Differentiable; the bias has gradient zero. `key_positions` must have a row for every key.
  at::Tensor Logits(const at::Tensor& scores) const;
  // Returns s * `scores`, which is symmetric if `scores` is symmetric.
  at::Tensor Scaled(const at::Tensor& scores) const;

  // Return s, and g as [1, 1, 1, keys], as constants on the CPU, for a library's fused attention. Both functions
  // require one map for all heads.
  double Scale() const;
  at::Tensor KeyOffsets(int64_t keys) const;
};

// Returns KeyEncoding as a tensor.
at::Tensor KeyPositions(int64_t tokens, int64_t channels);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_MAP_POSITION_H_
