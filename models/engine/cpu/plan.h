// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_PLAN_H_
#define VITRINE_MODELS_ENGINE_CPU_PLAN_H_

#include <memory>
#include <vector>

#include "models/engine/cpu/step.h"

namespace vitrine::engine {

// A matrix that steps write and read.
struct Buffer {
  RowsOf rows = RowsOf::kTokens;
  int64_t width = 0;
  int slot = -1;  // index of its slot in the arena
};

// Memory shared by buffers with disjoint lifetimes: rows of one kind, as wide as the widest buffer.
struct Slot {
  RowsOf rows = RowsOf::kTokens;
  int64_t width = 0;
};

// A program in execution order. Immutable.
struct Plan {
  std::vector<std::unique_ptr<const Step>> steps;
  std::vector<Buffer> buffers;
  std::vector<Slot> slots;
  Operand logits;
  int cell = 0;
  int64_t classes = 0;
};

// Assigns a slot to every buffer. A buffer lives from the step that writes it to the last that reads it, both included.
void PlanArena(Plan& plan);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_PLAN_H_
