// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu_backend.h"

#include <utility>

#include "common/status_macros.h"
#include "models/engine/cpu/engine.h"

namespace vitrine {
namespace {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(engine::Engine engine) : engine_(std::move(engine)) {}

  absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace& workspace, float* logits,
                   AttentionTap* attention, TokenTap* tokens) const override {
    engine_.Run(images, workspace, logits, attention, tokens);
    return absl::OkStatus();
  }
  int64_t saved_bytes() const override { return engine_.saved_bytes(); }

 private:
  const engine::Engine engine_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Backend>> MakeCpuBackend(const program::Program& program,
                                                              engine::WeightSource& weights, cpu::CpuPath path,
                                                              const PrecisionChoice& choice) {
  ASSIGN_OR_RETURN(engine::Engine engine, engine::Engine::Make(program, weights, path, choice));
  return std::make_unique<CpuBackend>(std::move(engine));
}

absl::StatusOr<std::unique_ptr<const Backend>> MakeCpuBackend(const program::Program& program,
                                                              std::span<const float* const> weights, cpu::CpuPath path,
                                                              const PrecisionChoice& choice) {
  engine::WeightsInMemory source(weights);
  return MakeCpuBackend(program, source, path, choice);
}

}  // namespace vitrine
