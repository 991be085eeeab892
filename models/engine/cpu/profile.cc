// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/profile.h"

#include <chrono>

#include "common/simd/float_mode.h"
#include "models/engine/cpu/frame_memory.h"
#include "models/engine/cpu/group.h"

namespace vitrine::engine {
namespace {

int64_t FloatsOf(const Frame& frame, Operand operand) {
  return operand.buffer < 0 ? 0 : frame.rows(frame.RowsOfBuffer(operand)) * operand.columns;
}

void AddCost(const Step& step, const Frame& frame, StepProfile& profile) {
  const StepCost cost = step.CostOn(frame);
  int64_t floats = cost.outside_floats + FloatsOf(frame, step.writes);
  for (const Operand& read : step.reads) floats += FloatsOf(frame, read);
  profile.kind = cost.kind;
  profile.precision = cost.precision;
  profile.multiply_adds += cost.multiply_adds;
  profile.bytes += floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace

std::vector<StepProfile> ProfileSteps(const Engine& engine, std::span<const ImagePlanes> images, Workspace& workspace) {
  using Clock = std::chrono::steady_clock;
  const Plan& plan = engine.plan();
  const cpu::FloatMode mode;  // the float mode of Engine::Run
  FrameMemory& memory = workspace.Of<FrameMemory>();
  std::vector<StepProfile> profiles;
  for (const auto& step : plan.steps) profiles.push_back({.name = step->name});
  for (size_t first = 0; first < images.size();) {
    const std::span<const ImagePlanes> group = FirstGroup(images.subspan(first), plan.cell);
    const Frame& frame = memory.Prepare(plan, engine.kernels(), group, static_cast<int>(first)).front();
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Clock::time_point start = Clock::now();
      plan.steps[i]->Run(frame);
      profiles[i].seconds += std::chrono::duration<double>(Clock::now() - start).count();
      AddCost(*plan.steps[i], frame, profiles[i]);
    }
    first += group.size();
  }
  return profiles;
}

}  // namespace vitrine::engine
