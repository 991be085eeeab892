// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_PLAN_H_
#define VITRINE_MODELS_ENGINE_CPU_PLAN_H_

#include <memory>
#include <vector>

#include "models/engine/cpu/step.h"
#include "models/engine/plan/plan.h"

namespace vitrine::engine {

// A program in execution order, as steps for this CPU. Immutable.
struct Plan : Layout {
  std::vector<std::unique_ptr<const Step>> steps;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_PLAN_H_
