// SPDX-License-Identifier: Apache-2.0
// A lowered program: its steps, buffers and memory. All back ends use it.
#ifndef VITRINE_MODELS_ENGINE_PLAN_PLAN_H_
#define VITRINE_MODELS_ENGINE_PLAN_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "models/engine/plan/step.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine::engine {

// A matrix that steps write and read.
struct Buffer {
  RowsOf rows = RowsOf::kTokens;
  int64_t width = 0;
  int slot = -1;  // index of the buffer's slot
};

// Memory shared by buffers whose lifetimes do not overlap. These buffers have the same RowsOf; `width` is the width of
// the widest buffer.
struct Slot {
  RowsOf rows = RowsOf::kTokens;
  int64_t width = 0;
};

// The matrices of a plan and their memory.
struct Layout {
  std::vector<Buffer> buffers;
  std::vector<Slot> slots;
  Operand logits;
  int cell = 0;    // side of a cell in pixels
  int prefix = 1;  // rows of each image before its cells, for RowsOf::kTokens
  int64_t classes = 0;
};

// A program as steps in execution order; a back end turns them into its own steps
// (docs/contributing/adding-a-device.md). Adjacent operators are folded into a weight matrix only when the back end
// requests the matrix. A plan is therefore small and does not copy the weights.
struct LoweredPlan : Layout {
  std::vector<PlanStep> steps;
};

// Lowers `program` to the steps that compute its logits. With `tokens`, the steps also compute the tokens of every
// stage, the final tokens and their projection. `has_bf16`: true if the device multiplies bf16; otherwise fp32 replaces
// bf16. `head_rows`: true if the back end supports RowsOf::kHeads; otherwise all tokens are computed instead. `program`
// and `weights` must outlive all calls of the plan's FoldedMatrix::weights; all other weights are copied. UNIMPLEMENTED
// names an operator that is too wide for int8, or that no step can compute at its position in the program.
// INVALID_ARGUMENT names an operator of `choice.kept` that the program lacks.
absl::StatusOr<LoweredPlan> Lower(const program::Program& program, WeightSource& weights, const PrecisionChoice& choice,
                                  bool has_bf16, bool tokens, bool head_rows);

// Assigns a slot to every buffer. A buffer is in use from the step that writes it to the last step that reads it,
// inclusive.
void PlanArena(LoweredPlan& plan);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_PLAN_H_
