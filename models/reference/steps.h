// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_STEPS_H_
#define VITRINE_MODELS_REFERENCE_STEPS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine {

// An operator and the operators that run in the same step, because no other operator reads the values between them.
// These are BatchNorm and GELU after a stem's convolution, GELU after a linear layer, or GELU and BatchNorm after the
// first convolution of XCiT's local layer.
struct OperatorStep {
  const program::Operator* op = nullptr;
  const program::Operator* norm = nullptr;
  const program::Operator* gelu = nullptr;
  program::Value result;  // output of the last operator
};

// Returns the steps of all operators, in order. The steps point into the program.
std::vector<OperatorStep> StepsOf(const program::Program& program);

// Returns, for every step, the values that no later step reads. Excludes the input images and values that no step
// reads.
std::vector<std::vector<program::Value>> LastRead(const program::Program& program,
                                                  const std::vector<OperatorStep>& steps);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_STEPS_H_
