// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/driver/driver.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace vitrine::cuda::driver {
namespace {

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// Returns the first function that the library lacks; null if it has all functions.
const char* LoadFunctions(void* library, Functions& functions) {
#define VITRINE_DRIVER_LOAD(name, parameters)                                         \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, #name)); \
  if (functions.name == nullptr) return #name;
  VITRINE_DRIVER_FUNCTIONS(VITRINE_DRIVER_LOAD)
#undef VITRINE_DRIVER_LOAD
  return nullptr;
}

}  // namespace

absl::StatusOr<Driver> Driver::Open(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("there is no NVIDIA driver on this machine (", error == nullptr ? file : error,
                     "); install it, and start a container with its GPUs (docker run --gpus all)"));
  }
  Driver driver;
  if (const char* const missing = LoadFunctions(library, driver.functions_); missing != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver is too old: it lacks ", missing,
                                                      "; install one for CUDA ", VersionText(kLeastVersion)));
  }
  int version = 0;
  if (const Result result = driver.functions_.cuDriverGetVersion(&version); result != kSuccess) {
    return absl::FailedPreconditionError(absl::StrCat("cuDriverGetVersion failed (", driver.Describe(result), ")"));
  }
  if (version < kLeastVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver is too old: it supports CUDA ",
                                                      VersionText(version), ", and the kernels need ",
                                                      VersionText(kLeastVersion), "; update it to 580 or newer"));
  }
  const Result initialized = driver.functions_.cuInit(0);
  if (initialized != kSuccess && initialized != kNoDevice) {
    return absl::FailedPreconditionError(
        absl::StrCat("cuInit failed (", driver.Describe(initialized),
                     "); nvidia-smi shows if the driver works, and a restart loads a new kernel module"));
  }
  // Without a device, the driver is not initialized, and the count would fail with NOT_INITIALIZED.
  const Result counted = initialized == kNoDevice ? kNoDevice : driver.functions_.cuDeviceGetCount(&driver.devices_);
  if (counted != kSuccess && counted != kNoDevice) {
    return absl::FailedPreconditionError(absl::StrCat("cuDeviceGetCount failed (", driver.Describe(counted), ")"));
  }
  if (driver.devices_ == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the NVIDIA driver finds no GPU (", driver.Describe(kNoDevice),
                     "); a container needs --gpus, a pod a limit of nvidia.com/gpu, and CUDA_VISIBLE_DEVICES must not "
                     "hide it"));
  }
  return driver;
}

std::string Driver::Describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (functions_.cuGetErrorName(result, &name) != kSuccess || name == nullptr) name = "unknown error";
  if (functions_.cuGetErrorString(result, &text) != kSuccess || text == nullptr) text = "no text";
  return absl::StrCat(name, " ", static_cast<int>(result), ": ", text);
}

absl::Status Driver::Check(Result result, std::string_view call) const {
  if (result == kSuccess) return absl::OkStatus();
  const std::string why = absl::StrCat(std::string(call), " failed (", Describe(result), ")");
  return result == kOutOfMemory ? absl::ResourceExhaustedError(why) : absl::InternalError(why);
}

bool IsSticky(Result result) {
  switch (result) {
    case kEccUncorrectable:
    case kNvlinkUncorrectable:
    case kContained:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextIsDestroyed:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed:
    case kTensorMemoryLeak:
    case kMpsClientTerminated:
    case kExternalDevice:
    case kUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace vitrine::cuda::driver
