// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_LAYERS_H_
#define VITRINE_TRAINER_LAB_LAYERS_H_

#include "models/reference/forward_context.h"
#include "models/reference/initializer.h"
#include "models/reference/module.h"
#include "models/reference/operators/attention/map_position.h"

namespace vitrine::sequences {

// Layers of sequence models. Image models do not use these layers: they consist of the operators in models/program.

// y = x W^T + b on every row. Initial weights and biases are uniform and at most 1 / sqrt(inputs) in magnitude, as by
// default in PyTorch.
class Linear : public Module {
 public:
  Linear(int inputs, int outputs, bool bias, Initializer& initializer);

  // [T, inputs] -> [T, outputs].
  at::Tensor Forward(const at::Tensor& x, bool bf16) const;

  const at::Tensor& weight() const { return weight_; }  // [outputs, inputs]
  const at::Tensor& bias() const { return bias_; }      // [outputs], undefined without bias

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

// Layer normalisation over the last dimension, with a scale (initially 1) and a shift (initially 0).
class LayerNorm : public Module {
 public:
  LayerNorm(int width, double epsilon, Initializer& initializer);

  // [..., width] -> the same shape.
  at::Tensor Forward(const at::Tensor& x) const;

 private:
  const double epsilon_;
  at::Tensor weight_;
  at::Tensor bias_;
};

// Weights of MapPosition (positional term of KV+Pos) for at most `keys` elements, initialized like PyTorch's linear
// layer. If `heads` is 0, all heads share one map; otherwise each head has its own map.
class MapPositionLayer : public Module {
 public:
  MapPositionLayer(int64_t keys, int channels, int heads, Initializer& initializer);

  MapPosition map() const { return {weight_, bias_, key_positions_}; }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  at::Tensor key_positions_;  // not a parameter
};

}  // namespace vitrine::sequences

#endif  // VITRINE_TRAINER_LAB_LAYERS_H_
