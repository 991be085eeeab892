// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PLAN_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PLAN_H_

#include <functional>
#include <map>
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

namespace vitrine::cuda {

// Tokens of a stage, of all images end to end.
struct HandedOut {
  FloatArray rows;
  bool class_token = false;
};

// The taps of a pass. Either may be null.
struct Taps {
  AttentionTap* attention = nullptr;
  std::map<int, HandedOut>* tokens = nullptr;  // by stage
};

// The launches of a lowered plan, with addresses in them: each needs memory that stays.
struct LaunchPlan {
  struct Tap {
    size_t after;  // launches that must be done
    std::function<absl::Status(Device&, const BatchRows&, const Taps&)> take;
  };
  // Rows that are made on the host for the grid of each image.
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
  int64_t classes = 0;
};

// Returns the sizes of the memory that the launches of a plan need, in bytes.
absl::StatusOr<std::vector<size_t>> MeasureLaunches(const engine::LoweredPlan& lowered, const BatchLimits& limits,
                                                    bool fast);

// Turns the steps of `lowered` into launches, with a place for each of the measured sizes: of fast kernels where the
// widths of a step suit one, else of plain kernels; of plain kernels alone unless `fast`. UNIMPLEMENTED names a
// family's own loops, which run on the CPU alone.
absl::StatusOr<LaunchPlan> MakeLaunches(const engine::LoweredPlan& lowered, const BatchLimits& limits,
                                        const BatchMemory& batch, std::span<std::byte* const> places,
                                        DeviceMatrices& matrices, bool fast);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PLAN_H_
