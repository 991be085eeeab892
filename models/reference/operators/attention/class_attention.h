// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CLASS_ATTENTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CLASS_ATTENTION_H_

#include "models/reference/forward_context.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// softmax(q k^T / sqrt(d_h)) v of the class token of every image over all its tokens, including itself (CaiT): q
// [images, width], k and v [T, width], heads side by side; returns [images, width]. Time is linear in the tokens.
// `layer` is the layer's index for the tap, `site` the dropout site of the weights.
at::Tensor AttendFromClass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int heads,
                           const TokenLayout& layout, int layer, int site, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CLASS_ATTENTION_H_
