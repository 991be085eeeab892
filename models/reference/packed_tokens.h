// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_PACKED_TOKENS_H_
#define VITRINE_MODELS_REFERENCE_PACKED_TOKENS_H_

#include <ATen/core/Tensor.h>

#include <memory>

#include "models/token_layout.h"

namespace vitrine {

// A batch of images as one sequence of tokens, without padding.
//
// `data` is [T, d]: the tokens of image 0, then of image 1, ... Layers that compute each token separately (linear,
// norm, MLP) use only `data`; layers that mix tokens (attention, grid convolutions, position encodings) stay within the
// segment of each image.
//
// Cheap to copy (the layout is shared). Thread-compatible.
struct PackedTokens {
  at::Tensor data;
  std::shared_ptr<const TokenLayout> layout;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_PACKED_TOKENS_H_
