// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_PROFILE_H_
#define VITRINE_ENGINE_CPU_PROFILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/cpu/engine.h"

namespace vitrine::engine {

// One fused step over a whole batch.
struct StepProfile {
  std::string name;  // of the operator that it begins with: "blocks.0.attention.qkv"
  StepKind kind = StepKind::kRows;
  Precision precision = Precision::kFp32;
  int64_t multiply_adds = 0;
  int64_t bytes = 0;  // read and written in memory or the caches: values, weights for every group, pixels
  double seconds = 0;
};

// One pass over the pictures, as Engine::Run makes it, with a clock around every step: in the order of the plan. The
// clock itself takes some 30 ns a step and group.
std::vector<StepProfile> ProfileSteps(const Engine& engine, std::span<const Picture> pictures, Workspace& workspace);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_PROFILE_H_
