// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_BATCH_NORM_H_
#define VITRINE_REFERENCE_OPERATORS_BATCH_NORM_H_

#include <ATen/core/Tensor.h>

#include "reference/forward_context.h"

namespace vitrine {

// Batch normalisation (Ioffe and Szegedy 2015) of every channel over all places of all images:
//   y = weight (x - mean) / sqrt(variance + epsilon) + bias.
// Mean and variance are the batch's in training, where the running ones follow with the momentum, as PyTorch's; and the
// running ones otherwise.
struct BatchNormTensors {
  at::Tensor weight;  // all [channels]
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_variance;
  double epsilon = 1e-5;
  double momentum = 0.1;

  // Outside of training y = Scale() x + Shift(), for folding into the convolution before.
  at::Tensor Scale() const;
  at::Tensor Shift() const;
};

// [rows, channels] or [images, channels, H, W], fp32, in the same form out. In training every row counts: leave out
// class tokens and rows that pad.
at::Tensor NormalizeBatch(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context);

// GELU of that in training, for x [rows, channels] of OperandType(x, context); the result is of its type.
at::Tensor NormalizeBatchGelu(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_BATCH_NORM_H_
