// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_CUSTOM_H_
#define VITRINE_REFERENCE_OPERATORS_CUSTOM_H_

#include "models/program/operators.h"
#include "reference/packed_tokens.h"

namespace vitrine {

// A family's own loops over every image of x [T, columns], which has no class tokens: [T, columns] fp32, differentiable
// by the family's own gradient. Rows that pad become zeros. On a device values go to the CPU and back.
at::Tensor RunCustom(const PackedTokens& x, const program::Custom& custom);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_CUSTOM_H_
