// SPDX-License-Identifier: Apache-2.0
// Chooses kernels of everything but linear layers and attention: fast ones where the widths of a step suit them.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_GRID_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_GRID_H_

#include <cstddef>

#include "models/engine/cuda/kernels/arguments.h"

namespace vitrine::cuda {

// A kernel, and the shape of its launch.
struct KernelChoice {
  const char* kernel;
  int threads = 128;
  size_t shared_bytes = 0;
};

// Return the kernel for these arguments: plain unless `fast`.
KernelChoice Choose(const StatisticsArguments& arguments, bool fast);
KernelChoice Choose(const AffineArguments& arguments, bool fast);
KernelChoice Choose(const ActivateArguments& arguments, bool fast);
KernelChoice Choose(const AddArguments& arguments, bool fast);
KernelChoice Choose(const FillArguments& arguments, bool fast);
KernelChoice Choose(const CopyArguments& arguments, bool fast);
KernelChoice Choose(const MeanArguments& arguments, bool fast);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_FAST_GRID_H_
