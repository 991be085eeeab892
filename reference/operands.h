// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERANDS_H_
#define VITRINE_REFERENCE_OPERANDS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine {

// Of every value by its id: whether all that read it are products of matrices, or take what they read as products do.
// With bf16 such values lie in memory as bf16; all others stay fp32.
std::vector<bool> OperandsOf(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERANDS_H_
