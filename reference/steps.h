// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_STEPS_H_
#define VITRINE_REFERENCE_STEPS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine {

// An operator and those that run with it because nobody else reads what stands between them: BatchNorm and GELU behind
// a stem's convolution, GELU behind a linear layer, GELU and BatchNorm behind LPI's first convolution.
struct OperatorStep {
  const program::Operator* op = nullptr;
  const program::Operator* norm = nullptr;
  const program::Operator* gelu = nullptr;
  program::Value result;  // of the last of them
};

// Of all operators, in their order. The steps point into the program.
std::vector<OperatorStep> StepsOf(const program::Program& program);

// Of every step, the values that it reads and no later one does. The pictures are not among them, nor what nobody
// reads.
std::vector<std::vector<program::Value>> LastRead(const program::Program& program,
                                                  const std::vector<OperatorStep>& steps);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_STEPS_H_
