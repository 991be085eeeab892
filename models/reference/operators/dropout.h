// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_DROPOUT_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_DROPOUT_H_

#include <ATen/core/Tensor.h>

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// `site` is a number for the place in the model where values are dropped; every place must have its own number. Outside
// of training and at rate 0, all functions return their input.

// Zeroes values with probability `rate` (one of context.dropout) and scales the remaining values to keep the
// expectation. `run` distinguishes calls with the same site.
at::Tensor Dropout(const at::Tensor& x, float rate, int site, const ForwardContext& context, int run = 0);

// Applies stochastic depth (Huang et al. 2016). For each image, zeroes its part of `branch`, the addend of a residual,
// with probability context.drop_path. Scales the parts of the remaining images to keep the expectation. The choice of
// images depends only on the seed, the site and the image's index in the batch that the replicas share.
at::Tensor DropPath(const PackedTokens& branch, int site, const ForwardContext& context);  // returns [T, d]
// Like the function above, for a branch whose first dimension counts images or sequences.
at::Tensor DropPath(const at::Tensor& branch, int site, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_DROPOUT_H_
