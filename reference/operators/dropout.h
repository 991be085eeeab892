// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_DROPOUT_H_
#define VITRINE_REFERENCE_OPERATORS_DROPOUT_H_

#include <ATen/core/Tensor.h>

#include "reference/forward_context.h"
#include "reference/packed_tokens.h"

namespace vitrine {

// `site` tells the places of a model apart: each needs its own number. All are the identity outside of training and at
// rate 0.

// Zeroes values with probability `rate`, one of context.dropout's, and scales the rest so that the expectation stays.
// `run` tells calls of one site apart.
at::Tensor Dropout(const at::Tensor& x, float rate, int site, const ForwardContext& context, int run = 0);

// Stochastic depth (Huang et al. 2016): zeroes `branch`, what is added to a residual, for whole images with probability
// context.drop_path, and scales it for the others so that the expectation stays. Depends on the seed, the site and the
// image's place in the batch alone.
at::Tensor DropPath(const PackedTokens& branch, int site, const ForwardContext& context);  // [T, d]
// The first dimension counts the images, or the sequences.
at::Tensor DropPath(const at::Tensor& branch, int site, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_DROPOUT_H_
