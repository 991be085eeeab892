// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CLASS_ATTENTION_H_
#define VITRINE_MODELS_LAYERS_CLASS_ATTENTION_H_

#include "models/forward_context.h"
#include "models/layers/linear.h"
#include "models/packed_tokens.h"

namespace vitrine {

// softmax(q k^T / sqrt(d_h)) v of the class token of every image over all its tokens: q [images, width], k and v
// [T, width], their heads side by side; [images, width]. `site` is the weights' place for dropout.
at::Tensor AttendFromClass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int heads,
                           const TokenLayout& layout, int layer, int site, const ForwardContext& context);

// Class attention (CaiT): the class token of every image attends to all of its tokens, itself included:
// softmax(q k^T / sqrt(d_h)) v per head, then a linear projection. Linear in the tokens.
class ClassAttention : public Module {
 public:
  // Requires that `heads` divides `width`.
  ClassAttention(int width, int heads, Initializer& initializer);

  // `class_tokens` [images, width] are the first tokens of the images in x [T, width]. Returns [images, width]. `layer`
  // is the block's number for the tap, `site` and `site` + 1 its places for dropout.
  at::Tensor Forward(const at::Tensor& class_tokens, const PackedTokens& x, int layer, int site,
                     const ForwardContext& context) const;

 private:
  const int heads_;
  Linear q_;  // each head by head
  Linear k_;
  Linear v_;
  Linear proj_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CLASS_ATTENTION_H_
