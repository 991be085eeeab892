// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_INTERPRETER_H_
#define VITRINE_MODELS_REFERENCE_INTERPRETER_H_

#include <map>
#include <memory>
#include <vector>

#include "models/program/demand.h"
#include "models/program/program.h"
#include "models/reference/forward_context.h"
#include "models/reference/images.h"
#include "models/reference/operators/position_table.h"
#include "models/reference/steps.h"

namespace vitrine {

// Runs a program on ATen tensors, with gradients, on any LibTorch device. One small function computes each kind of
// operator or fused step (steps.h).
//
// Immutable. Outside of training, Run may be called concurrently while no thread writes the weights.
class Interpreter {
 public:
  // Prepares to run `program`, which must outlive the interpreter.
  explicit Interpreter(const program::Program& program);

  // Returns logits [images, classes]. Weights are in program order; each image must have at least one whole cell per
  // side.
  at::Tensor Run(const std::vector<at::Tensor>& weights, const ImageBatch& images, const ForwardContext& context) const;

 private:
  class Pass;

  std::vector<program::Demand> DemandFor(const ForwardContext& context) const;

  const program::Program& program_;
  const std::vector<bool> operands_;
  const std::vector<OperatorStep> steps_;
  const std::vector<program::Demand> demands_;                // demands of a pass without a token tap
  const std::vector<std::vector<program::Value>> last_read_;  // by step: values that no later step reads
  std::map<int, int> stage_of_;                               // index in Program::stages, by value id
  std::map<const program::Operator*, std::unique_ptr<GridInterpolations>> interpolations_;
  std::map<const program::Operator*, at::Tensor> key_positions_;  // KeyPositions, by attention operator of KV+Pos
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_INTERPRETER_H_
