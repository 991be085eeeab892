// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/emulated_device.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/emulated/kernels.h"

namespace vitrine::cuda::emulated {
namespace {

constexpr int kBlocksPerSm = 2;

}  // namespace

absl::Status EmulatedDevice::Upload(void* to, const void* from, size_t bytes) {
  machine_.memory().Upload(to, from, bytes);
  return absl::OkStatus();
}

absl::Status EmulatedDevice::Download(void* to, const void* from, size_t bytes) {
  machine_.memory().Download(to, from, bytes);
  return absl::OkStatus();
}

absl::Status EmulatedDevice::Run(const Launch& launch) {
  const NamedKernel* const kernel = FindKernel(launch.kernel);
  if (kernel == nullptr || kernel->argument_bytes != launch.arguments.size()) {
    return absl::InternalError(absl::StrCat(launch.step, ": no kernel ", launch.kernel, " of ", launch.arguments.size(),
                                            " bytes of arguments"));
  }
  const std::optional<Fault> fault = machine_.Launch({.kernel = launch.kernel,
                                                      .blocks = machine_.options().sms * kBlocksPerSm,
                                                      .threads = launch.threads,
                                                      .shared_bytes = launch.shared_bytes},
                                                     [&] { kernel->run(launch.arguments.data()); });
  if (fault) return absl::InternalError(absl::StrCat(launch.step, ": ", fault->ToString()));
  return absl::OkStatus();
}

}  // namespace vitrine::cuda::emulated
