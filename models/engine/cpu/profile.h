// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_PROFILE_H_
#define VITRINE_MODELS_ENGINE_CPU_PROFILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/engine/cpu/engine.h"

namespace vitrine::engine {

// Cost of one fused step over a whole batch.
struct StepProfile {
  std::string name;  // name of its first operator: "blocks.0.attention.qkv"
  StepKind kind = StepKind::kRows;
  Precision precision = Precision::kFp32;
  int64_t multiply_adds = 0;
  int64_t bytes = 0;  // memory and cache traffic: values, pixels, and the weights once per group
  double seconds = 0;
};

// Runs one pass over the images like Engine::Run and times every step, in plan order. The timer costs about 30 ns per
// step and group.
std::vector<StepProfile> ProfileSteps(const Engine& engine, std::span<const ImagePlanes> images, Workspace& workspace);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_PROFILE_H_
