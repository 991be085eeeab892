// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CUSTOM_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CUSTOM_H_

#include "models/program/operators.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// Applies `custom`, an operation that a model family implements as its own loops, to each image of x [T, columns]. The
// rows of x must not contain class tokens. Returns [T, columns] fp32, differentiable with custom.gradient; rows that
// belong to no image are zeros. Computes on the CPU: copies x to the CPU, and the result to the device of x.
at::Tensor RunCustom(const PackedTokens& x, const program::Custom& custom);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CUSTOM_H_
