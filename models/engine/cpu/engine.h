// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_ENGINE_H_
#define VITRINE_MODELS_ENGINE_CPU_ENGINE_H_

#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "common/simd/cpu_path.h"
#include "models/attention_tap.h"
#include "models/engine/cpu/compile.h"
#include "models/engine/image_planes.h"
#include "models/engine/workspace.h"
#include "models/token_tap.h"

namespace vitrine::engine {

// A program compiled for this CPU, without a tensor library. Immutable; Run may be called concurrently, each caller
// with its own workspace.
//
// The logits of an image have the same bits in any batch. Every sum is added in one fixed order, which depends neither
// on the number of rows nor on the other images. Run does not depend on the rounding and denormal modes of the calling
// thread: it sets its own modes (common/simd/float_mode.h), which treat denormals as zero.
class Engine {
 public:
  // Compiles `program`. Returns the errors of CanCompute and Compile.
  static absl::StatusOr<Engine> Make(const program::Program& program, WeightSource& weights, cpu::CpuPath path,
                                     const PrecisionChoice& choice = {});
  static absl::StatusOr<Engine> Make(const program::Program& program, std::span<const float* const> weights,
                                     cpu::CpuPath path, const PrecisionChoice& choice = {});

  // Computes the logits [images, classes] of at least one image. Every image must have at least one whole cell per
  // side. `attention` and `tokens` may be null, and never change the logits. If both are null and the workspace has a
  // thread team, the team shares the work; the calling thread leads the team.
  void Run(std::span<const ImagePlanes> images, Workspace& workspace, float* logits, AttentionTap* attention = nullptr,
           TokenTap* tokens = nullptr) const;

  const Plan& plan() const { return logits_; }
  const Kernels& kernels() const { return *kernels_; }
  cpu::CpuPath path() const { return kernels_->path; }
  Precision precision() const { return precision_; }
  // Returns the bytes that weights in bf16 or int8 save, compared to fp32.
  int64_t saved_bytes() const { return saved_bytes_; }

 private:
  Engine(Plan logits, Plan tokens, const Kernels& kernels, Precision precision, int64_t saved_bytes)
      : logits_(std::move(logits)),
        tokens_(std::move(tokens)),
        kernels_(&kernels),
        precision_(precision),
        saved_bytes_(saved_bytes) {}

  Plan logits_;
  Plan tokens_;  // computes all tokens of every stage; used with a token tap
  const Kernels* kernels_;
  Precision precision_;
  int64_t saved_bytes_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_ENGINE_H_
