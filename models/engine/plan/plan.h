// SPDX-License-Identifier: Apache-2.0
// Types for the buffers and the memory of a lowered program; all back ends use them.
#ifndef VITRINE_MODELS_ENGINE_PLAN_PLAN_H_
#define VITRINE_MODELS_ENGINE_PLAN_PLAN_H_

#include <cstdint>
#include <vector>

#include "models/engine/plan/step.h"

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

// Assigns a slot to every buffer. A buffer is in use from the step that writes it to the last step that reads it,
// inclusive.
void PlanArena(LoweredPlan& plan);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_PLAN_H_
