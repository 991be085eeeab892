// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_BATCH_NORM_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_BATCH_NORM_H_

#include <ATen/core/Tensor.h>

#include "models/reference/forward_context.h"

namespace vitrine {

// Batch normalisation (Ioffe and Szegedy 2015) of every channel over all positions of all images:
//   y = weight * (x - mean) / sqrt(variance + epsilon) + bias.
// Training uses the batch's mean and variance, and updates the running statistics with the momentum, as in PyTorch.
// Otherwise the running statistics are used.
struct BatchNormTensors {
  at::Tensor weight;  // all [channels]
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_variance;
  double epsilon = 1e-5;
  double momentum = 0.1;

  // Return the scale and the shift of y = Scale() * x + Shift() outside of training, for folding into the previous
  // convolution.
  at::Tensor Scale() const;
  at::Tensor Shift() const;
};

// Normalises x, which is [rows, channels] or [images, channels, H, W], fp32; the result has the same shape. In
// training, all rows count for the statistics, so x must not contain class tokens or padding.
at::Tensor NormalizeBatch(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context);

// Returns GELU(NormalizeBatch(x)). Used only in training. x and the result are [rows, channels] in OperandType(x,
// context).
at::Tensor NormalizeBatchGelu(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_BATCH_NORM_H_
