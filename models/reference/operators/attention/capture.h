// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CAPTURE_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CAPTURE_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "models/attention_tap.h"
#include "models/reference/float_arrays.h"

namespace vitrine {

// Stores the matrices that `tap` (null or an AttentionTap) requests for images first_image .. first_image + images - 1.
// `matrices_of(i)` computes the matrices of image first_image + i, without gradients.
template <class MatricesOf>
void Capture(AttentionTap* tap, AttentionSource source, int layer, int first_image, int images,
             const MatricesOf& matrices_of) {
  if (tap == nullptr) return;
  const at::NoGradGuard no_grad;
  for (int i = 0; i < images; ++i) {
    if (tap->Wants(first_image + i, source, layer)) tap->Put(first_image + i, source, layer, matrices_of(i));
  }
}

// Converts the scores and weights of a softmax attention to the struct that an AttentionTap stores.
inline AttentionTap::Matrices Explicit(const at::Tensor& scores, const at::Tensor& weights) {
  return {.scores = FloatsOf(scores), .weights = FloatsOf(weights), .queries = {}, .keys = {}};
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ATTENTION_CAPTURE_H_
