// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_ENGINE_H_
#define VITRINE_ENGINE_CPU_ENGINE_H_

#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "base/simd/cpu_path.h"
#include "engine/cpu/compile.h"
#include "engine/picture.h"
#include "engine/workspace.h"
#include "models/attention_tap.h"
#include "models/token_tap.h"

namespace vitrine::engine {

// A program compiled for this CPU, without a tensor library. Immutable; Run may be called concurrently, each
// caller with a workspace of its own.
//
// A picture's logits are the same bits alone, in any batch, in any order, beside any sizes: every sum is one chain in a
// fixed order, and no kernel is chosen by the number of rows. Nor do they depend on how the calling thread rounds or
// what it makes of denormals, which are zero here (base/simd/float_mode.h).
class Engine {
 public:
  // Errors of CanCompute; INVALID_ARGUMENT where `choice` keeps what the program has no operator for; for the rest see
  // Compile.
  static absl::StatusOr<Engine> Make(const program::Program& program, WeightSource& weights, cpu::CpuPath path,
                                     const PrecisionChoice& choice = {});
  static absl::StatusOr<Engine> Make(const program::Program& program, std::span<const float* const> weights,
                                     cpu::CpuPath path, const PrecisionChoice& choice = {});

  // Logits [pictures, classes] of pictures of whole cells or more, one at least. What is asked of the taps, which may
  // be null, is computed beside them and changes no bit of the logits. The workspace's team, if it has one, computes
  // with the calling thread, which leads it, where nothing is asked of the taps.
  void Run(std::span<const Picture> pictures, Workspace& workspace, float* logits, AttentionTap* attention = nullptr,
           TokenTap* tokens = nullptr) const;

  const Plan& plan() const { return logits_; }
  const Kernels& kernels() const { return *kernels_; }
  cpu::CpuPath path() const { return kernels_->path; }
  Precision precision() const { return precision_; }
  // Bytes that the weights take less than as fp32.
  int64_t saved_bytes() const { return saved_bytes_; }

 private:
  Engine(Plan logits, Plan tokens, const Kernels& kernels, Precision precision, int64_t saved_bytes)
      : logits_(std::move(logits)),
        tokens_(std::move(tokens)),
        kernels_(&kernels),
        precision_(precision),
        saved_bytes_(saved_bytes) {}

  Plan logits_;
  Plan tokens_;  // where somebody asks for tokens: it computes all of them, in every stage
  const Kernels* kernels_;
  Precision precision_;
  int64_t saved_bytes_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_ENGINE_H_
