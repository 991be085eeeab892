// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_BACKEND_H_
#define VITRINE_ENGINE_BACKEND_H_

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/simd/cpu_path.h"
#include "engine/cpu/picture.h"
#include "engine/cpu/weight_source.h"
#include "engine/cpu/workspace.h"
#include "engine/precision.h"
#include "models/attention_tap.h"
#include "models/program/program.h"
#include "models/token_tap.h"

namespace vitrine {

// A model with weights on what computes it: the compiled engine on the CPU, LibTorch on other devices
// (engine/torch_library.h). Immutable; thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // Logits [pictures, classes] fp32 of pictures that the model takes, one at least. What is asked of the taps, which
  // may be null, is computed beside them. `workspace` is the calling thread's; models share it. RESOURCE_EXHAUSTED
  // where a device has no memory, INTERNAL for its other errors; throws std::bad_alloc where this machine has none.
  virtual absl::Status Run(std::span<const engine::Picture> pictures, engine::Workspace& workspace, float* logits,
                           AttentionTap* attention, TokenTap* tokens) const = 0;
};

// Weights are copied, one by one, so that a source that lets them go never holds much more than one model.
// Errors of engine::Engine::Make. Throws std::bad_alloc.
absl::StatusOr<std::unique_ptr<const Backend>> MakeCpuBackend(const program::Program& program,
                                                              engine::WeightSource& weights, cpu::CpuPath path,
                                                              const PrecisionChoice& choice = {});
// `weights` are in the program's order, each as many floats as its weight has elements.
absl::StatusOr<std::unique_ptr<const Backend>> MakeCpuBackend(const program::Program& program,
                                                              std::span<const float* const> weights, cpu::CpuPath path,
                                                              const PrecisionChoice& choice = {});

}  // namespace vitrine

#endif  // VITRINE_ENGINE_BACKEND_H_
