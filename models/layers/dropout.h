#ifndef VITRINE_MODELS_LAYERS_DROPOUT_H_
#define VITRINE_MODELS_LAYERS_DROPOUT_H_

#include <ATen/core/Tensor.h>

#include "models/forward_context.h"

namespace vitrine {

// Zeroes values with probability context.dropout and scales the rest so that the expectation stays. The identity
// outside of training. `site` tells the places of a model apart: each needs its own number.
at::Tensor Dropout(const at::Tensor& x, int site, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_DROPOUT_H_
