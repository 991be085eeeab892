// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/driver/card.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine::cuda::driver {
namespace {

constexpr int kLeastCapability = 80;  // 10 * major + minor; bf16 and cp.async need 8.0

}  // namespace

absl::StatusOr<std::unique_ptr<Card>> Card::Open(const Driver& driver, int index, const void* image) {
  const std::string name = absl::StrCat("cuda:", index);
  if (index < 0 || index >= driver.devices()) {
    return absl::FailedPreconditionError(absl::StrCat("there is no ", name, "; the NVIDIA driver finds ",
                                                      driver.devices(),
                                                      " GPUs, cuda:0 to cuda:", driver.devices() - 1));
  }
  int device = 0;
  RETURN_IF_ERROR(driver.Check(driver.functions().cuDeviceGet(&device, index), "cuDeviceGet"));
  std::unique_ptr<Card> card(new Card(driver, device, name));
  RETURN_IF_ERROR(card->Load(image));
  return card;
}

absl::Status Card::Load(const void* image) {
  const Functions& call = functions();
  char model[96] = "";
  RETURN_IF_ERROR(Check(call.cuDeviceGetName(model, sizeof(model), device_), "cuDeviceGetName"));
  model_ = model;
  int major = 0, minor = 0;
  for (const auto& [attribute, value] : {std::pair(kCapabilityMajor, &major), std::pair(kCapabilityMinor, &minor),
                                         std::pair(kMultiprocessors, &multiprocessors_)}) {
    RETURN_IF_ERROR(Check(call.cuDeviceGetAttribute(value, attribute, device_), "cuDeviceGetAttribute"));
  }
  capability_ = 10 * major + minor;
  if (capability_ < kLeastCapability) {
    return absl::FailedPreconditionError(absl::StrCat(name_, " is a ", model_, " of compute capability ", major, ".",
                                                      minor, "; the kernels need 8.0 (Ampere) or newer"));
  }
  RETURN_IF_ERROR(Check(call.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  RETURN_IF_ERROR(Enter());
  const Result loaded = call.cuModuleLoadData(&module_, image);
  if (loaded == kInvalidImage) {
    return absl::FailedPreconditionError(absl::StrCat("libvitrine_cuda.so was built without kernels (",
                                                      driver_.Describe(loaded), "); build it with script/build cuda"));
  }
  if (loaded == kNoBinaryForGpu || loaded == kUnsupportedPtxVersion || loaded == kJitCompilationDisabled) {
    return absl::FailedPreconditionError(
        absl::StrCat("libvitrine_cuda.so has no kernels for ", name_, ", a ", model_, " of compute capability ", major,
                     ".", minor, " (", driver_.Describe(loaded),
                     "); update the driver, which then compiles them, or build with this architecture"));
  }
  return Check(loaded, "cuModuleLoadData");
}

Card::~Card() {
  if (context_ == nullptr || lost()) return;
  static_cast<void>(Enter());
  if (module_ != nullptr && !lost()) static_cast<void>(Check(functions().cuModuleUnload(module_), "cuModuleUnload"));
  if (!lost()) functions().cuDevicePrimaryCtxRelease_v2(device_);
}

absl::Status Card::Enter() const {
  if (lost()) {
    const MutexLock lock(mutex_);
    return absl::UnavailableError(why_lost_);
  }
  return Check(functions().cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

absl::Status Card::Check(Result result, std::string_view call) const {
  if (result == kSuccess) return absl::OkStatus();
  const absl::Status error = driver_.Check(result, call);
  const std::string message = absl::StrCat(name_, ": ", std::string(error.message()));
  if (!IsSticky(result)) return absl::Status(error.code(), message);
  Lose(absl::StrCat(message, "; the device serves a new process alone"));
  return absl::UnavailableError(message);
}

absl::StatusOr<FunctionHandle> Card::FindFunction(std::string_view name, size_t shared_bytes) {
  const Functions& call = functions();
  const MutexLock lock(functions_mutex_);
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    const std::string text(name);
    Function function;
    RETURN_IF_ERROR(Check(call.cuModuleGetFunction(&function.handle, module_, text.c_str()),
                          absl::StrCat("cuModuleGetFunction of ", text)));
    found = functions_.emplace(text, function).first;
  }
  Function& function = found->second;
  if (shared_bytes > function.shared_bytes) {
    RETURN_IF_ERROR(
        Check(call.cuFuncSetAttribute(function.handle, kMaxDynamicSharedBytes, static_cast<int>(shared_bytes)),
              "cuFuncSetAttribute"));
    function.shared_bytes = shared_bytes;
  }
  return function.handle;
}

absl::StatusOr<Kernel> Card::Find(std::string_view name, int threads, size_t shared_bytes) {
  const Functions& call = functions();
  Kernel kernel;
  ASSIGN_OR_RETURN(kernel.function, FindFunction(name, shared_bytes));
  int blocks = 0;
  RETURN_IF_ERROR(
      Check(call.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, threads, shared_bytes),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  if (blocks == 0)
    return absl::InternalError(absl::StrCat(name_, " cannot run ", std::string(name), " with ", threads, " threads"));
  kernel.blocks = blocks * multiprocessors_;
  return kernel;
}

absl::StatusOr<Card::Memory> Card::ReadMemory() const {
  Memory memory;
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(Check(functions().cuMemGetInfo_v2(&memory.free, &memory.total), "cuMemGetInfo"));
  return memory;
}

void Card::Lose(std::string why) const {
  const MutexLock lock(mutex_);
  if (lost()) return;
  why_lost_ = std::move(why);
  lost_.store(true, std::memory_order_release);
}

}  // namespace vitrine::cuda::driver
