// SPDX-License-Identifier: Apache-2.0
#include "server/execution/device.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/zeros.h>
#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// The folder that libtorch_cpu.so was loaded from; libtorch_cuda.so of the same release lies beside it.
std::filesystem::path LibTorchFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::detail::getCUDAHooks), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

absl::Status Refuse(const Device& device, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("device ", device.name(), " cannot be used: ", why, "; start with --device cpu instead"));
}

std::string LoadError() {
  const char* error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

}  // namespace

std::string Device::name() const {
  return kind == Kind::kCpu ? "cpu" : absl::StrCat("cuda:", index);
}

absl::StatusOr<Device> ParseDevice(std::string_view text) {
  if (text == "cpu") return Device{};
  if (text == "cuda") return Device{Device::Kind::kCuda, 0};
  constexpr std::string_view kPrefix = "cuda:";
  Device device{Device::Kind::kCuda, 0};
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    const std::string_view digits = text.substr(kPrefix.size());
    const bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (plain && absl::SimpleAtoi(std::string(digits), &device.index) && device.index < 128) return device;
  }
  return absl::InvalidArgumentError(absl::StrCat("device \"", absl::Utf8SafeCEscape(std::string(text.substr(0, 64))),
                                                 "\" is not known; use cpu, cuda:0, cuda:1, ..."));
}

absl::Status OpenDevice(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return absl::OkStatus();
  // The driver first: without it LibTorch's library would load and then report no device, without a reason.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return Refuse(device, absl::StrCat("there is no NVIDIA driver on this machine (", LoadError(), ")"));
  }
  const std::filesystem::path library = LibTorchFolder() / "libtorch_cuda.so";
  // Global, since LibTorch registers kernels and hooks from its static initialisers.
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return Refuse(device, absl::StrCat("LibTorch's CUDA library does not load (", LoadError(), ")"));
  }
  try {
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    const int count = hooks.hasCUDA() ? hooks.deviceCount() : 0;
    if (count == 0) return Refuse(device, "LibTorch finds no CUDA device");
    if (device.index >= count) {
      return Refuse(device, absl::StrCat("there are ", count, " CUDA devices, cuda:0 to cuda:", count - 1));
    }
    // By default cuDNN rounds the operands of fp32 convolutions to TF32, 10 bits of mantissa; fp32 is promised.
    for (const at::Float32Op op : {at::Float32Op::CONV, at::Float32Op::RNN}) {
      at::globalContext().setFloat32Precision(at::Float32Backend::CUDA, op, at::Float32Precision::IEEE);
    }
  } catch (const std::exception& error) {
    return Refuse(device, absl::StrCat("CUDA does not start (", std::string(error.what()).substr(0, 200), ")"));
  }
  return absl::OkStatus();
}

bool IsLost(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return false;
  try {
    (void)at::zeros({1}, at::Device(device.name())).cpu();
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace vitrine
