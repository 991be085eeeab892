// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_STEPS_H_
#define VITRINE_REFERENCE_STEPS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine {

// An operator and those that run with it because nobody else reads what stands between them: BatchNorm and GELU behind
// a stem's convolution, GELU behind a linear layer, GELU and BatchNorm behind LPI's first convolution.
struct Step {
  const program::Operator* op = nullptr;
  const program::Operator* norm = nullptr;
  const program::Operator* gelu = nullptr;
  program::Value result;  // of the last of them
};

// Of all operators, in their order. The steps point into the program.
std::vector<Step> StepsOf(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_STEPS_H_
