// SPDX-License-Identifier: Apache-2.0
#include "models/reference/torch_backend/cuda_device.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Device.h>
#include <dlfcn.h>

#include <exception>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "models/reference/out_of_memory.h"

namespace vitrine {
namespace {

// Returns the folder of the loaded libtorch_cpu.so, which also contains libtorch_cuda.so of the same release.
std::filesystem::path LibTorchFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::detail::getCUDAHooks), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

absl::Status Refuse(const std::string& why) {
  return absl::FailedPreconditionError(why);
}

std::string LoadError() {
  const char* error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

}  // namespace

absl::Status OpenCudaDevice(const std::string& device) {
  const std::filesystem::path library = LibTorchFolder() / "libtorch_cuda.so";
  // RTLD_GLOBAL, because LibTorch's static initializers register kernels and hooks.
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return Refuse(absl::StrCat("LibTorch's CUDA library does not load (", LoadError(), ")"));
  }
  try {
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    const int count = hooks.hasCUDA() ? hooks.deviceCount() : 0;
    if (count == 0) return Refuse("LibTorch finds no CUDA device");
    if (at::Device(device).index() >= count) {
      return Refuse(absl::StrCat("there are ", count, " CUDA devices, cuda:0 to cuda:", count - 1));
    }
    // By default cuDNN rounds the operands of fp32 convolutions to TF32, with 10 bits of mantissa; the API promises
    // fp32.
    for (const at::Float32Op op : {at::Float32Op::CONV, at::Float32Op::RNN}) {
      at::globalContext().setFloat32Precision(at::Float32Backend::CUDA, op, at::Float32Precision::IEEE);
    }
  } catch (const std::exception& error) {
    return Refuse(absl::StrCat("CUDA does not start (", std::string(error.what()).substr(0, 200), ")"));
  }
  return absl::OkStatus();
}

bool IsCudaDeviceLost(const std::string& device) {
  return FailsForGood([&] { (void)at::zeros({1}, at::Device(device)).cpu(); });
}

bool FailsForGood(absl::FunctionRef<void()> compute) {
  try {
    compute();
    return false;
  } catch (const std::exception& error) {
    return !IsOutOfMemory(error);
  }
}

}  // namespace vitrine
