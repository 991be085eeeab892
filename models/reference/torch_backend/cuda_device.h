// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_TORCH_BACKEND_CUDA_DEVICE_H_
#define VITRINE_MODELS_REFERENCE_TORCH_BACKEND_CUDA_DEVICE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace vitrine {

// Loads LibTorch's CUDA library and checks that "cuda:N" exists. Call once, before any other use of LibTorch: LibTorch
// looks for CUDA at its first use and caches the result. FAILED_PRECONDITION names the first library that cannot be
// loaded, or the device.
absl::Status OpenCudaDevice(const std::string& device);

// See TorchLibrary::is_lost.
bool IsCudaDeviceLost(const std::string& device);

// True if `compute` throws for a reason other than lack of memory. Lack of memory may be temporary.
bool FailsForGood(absl::FunctionRef<void()> compute);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_TORCH_BACKEND_CUDA_DEVICE_H_
