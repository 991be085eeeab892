// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CUSTOM_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CUSTOM_H_

#include "models/program/operators.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Runs a family's own loops over every image of x [T, columns], without class tokens. Returns [T, columns] fp32,
// differentiable with the gradient function of `custom`; padding rows are zeros. Runs on the CPU: values on another
// device are copied to it and back.
at::Tensor RunCustom(const PackedTokens& x, const program::Custom& custom);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CUSTOM_H_
