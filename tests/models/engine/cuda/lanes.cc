// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/simd/float_mode.h"
#include "models/engine/cpu/compile.h"
#include "models/engine/cpu/frame_memory.h"
#include "models/engine/cpu/step.h"

namespace vitrine::testing {

std::vector<float> LogitsOnCpu(const program::Program& program, std::span<const float* const> weights,
                               const PrecisionChoice& choice, std::span<const engine::ImagePlanes> images,
                               const engine::Kernels& kernels) {
  const cpu::FloatMode mode;
  engine::WeightsInMemory source(weights);
  engine::SharedMatrices matrices(program, source);
  const engine::Instructions instructions = {.fp32 = &kernels, .bf16 = nullptr, .int8 = &kLaneInt8Kernels};
  const absl::StatusOr<engine::Plan> plan =
      engine::Compile(program, source, instructions, choice, /*tokens=*/false, matrices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  engine::FrameMemory memory;
  engine::Frame& frame = memory.Prepare(*plan, kernels, images, 0).front();
  for (const auto& step : plan->steps) step->Run(frame);
  const cpu::View<float> rows = frame.At(plan->logits);
  std::vector<float> logits;
  for (int64_t i = 0; i < rows.rows; ++i) logits.insert(logits.end(), rows.Row(i), rows.Row(i) + rows.columns);
  return logits;
}

}  // namespace vitrine::testing
