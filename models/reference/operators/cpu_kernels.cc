// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/cpu_kernels.h"

#include <c10/util/Exception.h>

#include <string>

#include "common/simd/chosen_path.h"

namespace vitrine {
namespace {

const cpu::KernelTable* ChosenKernels() {
  const absl::StatusOr<cpu::CpuPath> path = cpu::ChosenPath();
  TORCH_CHECK(path.ok(), std::string(path.status().message()));
  return cpu::FindKernels(*path);
}

}  // namespace

const cpu::KernelTable& CpuKernels() {
  static const cpu::KernelTable* const kKernels = ChosenKernels();
  return *kKernels;
}

}  // namespace vitrine
