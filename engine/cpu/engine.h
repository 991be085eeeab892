// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_ENGINE_H_
#define VITRINE_ENGINE_CPU_ENGINE_H_

#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "base/simd/cpu_path.h"
#include "engine/cpu/compile.h"
#include "engine/cpu/picture.h"
#include "engine/cpu/workspace.h"

namespace vitrine::engine {

// A program compiled for this CPU in fp32, without a tensor library. Immutable; Run may be called concurrently, each
// caller with a workspace of its own.
//
// A picture's logits are the same bits alone, in any batch, in any order, beside any sizes: every sum is one chain in a
// fixed order, and no kernel is chosen by the number of rows.
class Engine {
 public:
  // FAILED_PRECONDITION where this CPU cannot run `path`; for the rest see Compile.
  static absl::StatusOr<Engine> Make(const program::Program& program, std::span<const float* const> weights,
                                     cpu::CpuPath path);

  Workspace MakeWorkspace() const { return Workspace(*kernels_); }

  // Logits [pictures, classes] of pictures of whole cells or more, one at least.
  void Run(std::span<const Picture> pictures, Workspace& workspace, float* logits) const;

  const Plan& plan() const { return plan_; }
  cpu::CpuPath path() const { return kernels_->path; }

 private:
  Engine(Plan plan, const Kernels& kernels) : plan_(std::move(plan)), kernels_(&kernels) {}

  Plan plan_;
  const Kernels* kernels_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_ENGINE_H_
