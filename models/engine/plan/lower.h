// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PLAN_LOWER_H_
#define VITRINE_MODELS_ENGINE_PLAN_LOWER_H_

#include "absl/status/statusor.h"
#include "models/engine/plan/plan.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine::engine {

// Lowers `program` to the steps that compute its logits. With `tokens`, the steps also compute the tokens of every
// stage, the final tokens and their projection. `has_bf16`: true if the device multiplies bf16; otherwise fp32 replaces
// bf16. `head_rows`: true if the back end supports RowsOf::kHeads; otherwise all tokens are computed instead. `program`
// and `weights` must outlive all calls of the plan's FoldedMatrix::weights; all other weights are copied. UNIMPLEMENTED
// names an operator that is too wide for int8, or that no step can compute at its position in the program.
// INVALID_ARGUMENT names an operator of `choice.kept` that the program lacks.
absl::StatusOr<LoweredPlan> Lower(const program::Program& program, WeightSource& weights, const PrecisionChoice& choice,
                                  bool has_bf16, bool tokens, bool head_rows);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_LOWER_H_
