// SPDX-License-Identifier: Apache-2.0
// Chooses between fast and plain kernels for the steps other than stems, linear layers and attention. A fast kernel is
// chosen if it supports the widths.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_GRID_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_GRID_H_

#include <cstddef>
#include <optional>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/plan/plan.h"

namespace vitrine::cuda {

// A kernel and its launch configuration.
struct KernelChoice {
  const char* kernel;
  int threads = 128;
  size_t shared_bytes = 0;
};

// Return the fast kernel if it supports these arguments, else the plain kernel. Local interactions have only a fast
// kernel.
KernelChoice Choose(const AffineArguments& arguments);
KernelChoice Choose(const AddArguments& arguments);
KernelChoice Choose(const CopyArguments& arguments);
KernelChoice Choose(const PatchifyArguments& arguments);
KernelChoice Choose(const GatherArguments& arguments);
KernelChoice Choose(const DepthwiseArguments& arguments);
KernelChoice Choose(const LocalArguments& arguments);

// Steps of XCiT's local patch interaction that one kernel computes.
struct LocalSteps {
  static constexpr size_t kCount = 3;
  const engine::LayerNormStep& norm;
  const engine::DepthwiseStep &first, &second;
};
// Returns the steps of a local patch interaction that begins at step `first`. Returns nullopt if no interaction begins
// there, if the kernel does not support it, or if other steps read its intermediate values.
std::optional<LocalSteps> FindLocalSteps(const engine::LoweredPlan& plan, size_t first);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_GRID_H_
