// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operands.h"

namespace vitrine {
namespace {

// Returns true if an operator accepts bf16 for its input number `input`. `result` is true if all readers of the
// operator's result accept bf16.
struct TakesOperand {
  size_t input;
  bool result;

  bool operator()(const program::Linear& linear) const { return linear.code < 0; }
  // input 1 is the branch; the residual stream, input 0, stays fp32
  bool operator()(const program::Residual&) const { return input == 1; }
  bool operator()(const program::Affine&) const { return true; }
  bool operator()(const program::Attend& attend) const { return !attend.class_query && !attend.offers_scores; }
  bool operator()(const program::AttendChannels&) const { return true; }
  bool operator()(const program::ConvolveGrid& convolve) const { return !convolve.depthwise; }
  bool operator()(const program::Columns&) const { return true; }
  bool operator()(const program::Activate&) const { return result; }
  bool operator()(const program::Drop&) const { return result; }
  bool operator()(const program::Concatenate&) const { return result; }
  bool operator()(const program::Add&) const { return result; }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

}  // namespace

std::vector<bool> OperandsOf(const program::Program& program) {
  std::vector<bool> operands(static_cast<size_t>(program.values()), true);
  operands[static_cast<size_t>(program.logits().id)] = false;
  for (auto op = program.operators().rbegin(); op != program.operators().rend(); ++op) {
    const bool result = operands[static_cast<size_t>(op->output.id)];
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      if (!std::visit(TakesOperand{i, result}, op->settings)) operands[static_cast<size_t>(op->inputs[i].id)] = false;
    }
  }
  return operands;
}

}  // namespace vitrine
