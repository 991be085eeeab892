// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TORCH_BACKEND_CUDA_DEVICE_H_
#define VITRINE_TORCH_BACKEND_CUDA_DEVICE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace vitrine {

// Loads LibTorch's CUDA library and checks that "cuda:N" exists. Before anything else of LibTorch, once: LibTorch looks
// for CUDA at its first use and keeps what it found. FAILED_PRECONDITION names what is missing: the first library that
// cannot be loaded, or the device.
absl::Status OpenCudaDevice(const std::string& device);

// See TorchLibrary::is_lost.
bool IsCudaDeviceLost(const std::string& device);

// Returns true if `compute` throws for another reason than want of memory, which passes.
bool FailsForGood(absl::FunctionRef<void()> compute);

}  // namespace vitrine

#endif  // VITRINE_TORCH_BACKEND_CUDA_DEVICE_H_
