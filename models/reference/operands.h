// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERANDS_H_
#define VITRINE_MODELS_REFERENCE_OPERANDS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine {

// Returns, by value id, true if every reader of the value is a matrix product, or another operator that accepts bf16.
// With ForwardContext::bf16, on a CPU with autograd enabled, these values are stored as bf16.
std::vector<bool> OperandsOf(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERANDS_H_
