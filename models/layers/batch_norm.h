// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_BATCH_NORM_H_
#define VITRINE_MODELS_LAYERS_BATCH_NORM_H_

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/module.h"

namespace vitrine {

// Tensors of a BatchNorm, [channels] each.
struct BatchNormTensors {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_variance;
  double epsilon = 1e-5;
  double momentum = 0.1;

  // Outside of training y = Scale() x + Shift().
  at::Tensor Scale() const;
  at::Tensor Shift() const;
};

// As BatchNorm's Forward and ForwardGelu.
at::Tensor NormalizeBatch(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context);
at::Tensor NormalizeBatchGelu(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context);

// Batch normalisation (Ioffe and Szegedy 2015) of every channel over all places of all images:
//   y = weight (x - mean) / sqrt(variance + epsilon) + bias.
// Mean and variance are the batch's in training, where the running ones follow with the momentum, as PyTorch's; and the
// running ones otherwise. Running statistics are buffers.
class BatchNorm : public Module {
 public:
  BatchNorm(int channels, Initializer& initializer, double epsilon = 1e-5, double momentum = 0.1);

  // [rows, channels] or [images, channels, H, W], fp32, in the same form out. In training every row counts: leave out
  // class tokens and rows that pad.
  at::Tensor Forward(const at::Tensor& x, const ForwardContext& context) const;

  // GELU of Forward in training, for x [rows, channels] of OperandType(x, context); the result is of its type.
  at::Tensor ForwardGelu(const at::Tensor& x, const ForwardContext& context) const;

  // Outside of training y = Scale() x + Shift(), both [channels]. For folding into the layer before.
  at::Tensor Scale() const { return tensors().Scale(); }
  at::Tensor Shift() const { return tensors().Shift(); }
  BatchNormTensors tensors() const { return {weight_, bias_, running_mean_, running_variance_, epsilon_, momentum_}; }

 private:
  const double epsilon_;
  const double momentum_;
  at::Tensor weight_;            // [channels], starts at 1
  at::Tensor bias_;              // [channels], starts at 0
  at::Tensor running_mean_;      // [channels], starts at 0
  at::Tensor running_variance_;  // [channels], starts at 1
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_BATCH_NORM_H_
