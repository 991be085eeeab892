// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_COMPILE_H_
#define VITRINE_ENGINE_CPU_COMPILE_H_

#include <span>

#include "absl/status/statusor.h"
#include "engine/cpu/plan.h"
#include "models/program/program.h"

namespace vitrine::engine {

// The steps that compute the logits of `program`. `weights` are in the program's order, each as many floats as its
// weight has elements; they are copied. UNIMPLEMENTED names an operator that has no step where it stands.
absl::StatusOr<Plan> Compile(const program::Program& program, std::span<const float* const> weights,
                             const Kernels& kernels);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_COMPILE_H_
