// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PLAN_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PLAN_H_

#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "models/attention_tap.h"
#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/cuda/launches/stem.h"
#include "models/engine/cuda/launches/step_memory.h"
#include "models/engine/plan/plan.h"
#include "models/program/program.h"
#include "models/token_tap.h"

namespace vitrine::cuda {

// Taps of a batch; either tap may be null.
struct Taps {
  AttentionTap* attention = nullptr;
  TokenTap* tokens = nullptr;
};
// Copies the requested values from the device to the taps. Called between two launches.
using TakeTap = std::function<absl::Status(Device&, const BatchRows&, const Taps&)>;

// The launches of a lowered plan. They contain addresses of device memory, so this memory must not move.
struct LaunchPlan {
  struct Tap {
    size_t after;  // number of launches that run before `take`
    TakeTap take;
  };
  // Rows of positions, computed on the host for each image's grid.
  struct Positions {
    Matrix to;
    std::function<std::vector<float>(Grid grid)> rows;
  };

  std::vector<Launch> launches;
  std::vector<Tap> taps;
  std::vector<Positions> positions;
  std::vector<std::vector<StemLayer>> stems;
  Matrix logits;
  int cell = 0;
  int prefix = 0;
  int64_t classes = 0;
};

// Returns the sizes of the memory that the launches of a plan need, in bytes.
absl::StatusOr<std::vector<size_t>> MeasureLaunches(const engine::LoweredPlan& lowered, const BatchLimits& limits);

// Converts the steps of `lowered` to launches. A step's launch uses a fast kernel if one supports the step's precision,
// widths and alignment, and a plain kernel otherwise.
// `places` has one address per size that MeasureLaunches returned. UNIMPLEMENTED names an operator that no kernel
// supports, for example a CustomStep.
absl::StatusOr<LaunchPlan> MakeLaunches(const engine::LoweredPlan& lowered, const BatchLimits& limits,
                                        const BatchMemory& batch, std::span<std::byte* const> places,
                                        DeviceMatrices& matrices);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PLAN_H_
