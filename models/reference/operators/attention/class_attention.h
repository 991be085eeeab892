// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CLASS_ATTENTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CLASS_ATTENTION_H_

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Returns softmax(q k^T / sqrt(d_h)) v. The class token of every image attends to all tokens of the image, including
// itself (CaiT). q is [images, width], k and v are [T, width] for T tokens, with heads side by side; the result is
// [images, width]. Time is linear in the number of tokens. `layer` is the layer's index in the AttentionTap, `site` the
// dropout site of the attention weights.
at::Tensor AttendFromClass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int heads,
                           const TokenLayout& layout, int layer, int site, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CLASS_ATTENTION_H_
