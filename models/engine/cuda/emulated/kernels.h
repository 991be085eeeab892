// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_KERNELS_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_KERNELS_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace vitrine::cuda::emulated {

// A kernel and the name by which the driver finds it.
struct NamedKernel {
  std::string_view name;
  size_t argument_bytes;
  void (*run)(const void* arguments);
};
// Returns the kernel of this name, or null.
const NamedKernel* FindKernel(std::string_view name);
const std::vector<NamedKernel>& Kernels();

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_KERNELS_H_
