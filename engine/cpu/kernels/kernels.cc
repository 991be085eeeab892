// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/kernels/kernels.h"

namespace vitrine::engine {

const Kernels* FindKernels(cpu::CpuPath path) {
  if (!cpu::IsSupported(path)) return nullptr;
#if defined(__x86_64__)
  if (path == cpu::CpuPath::kAvx2) return &kAvx2Kernels;
  if (path != cpu::CpuPath::kPortable) return &kAvx512Kernels;
#endif
  return &kPortableKernels;
}

}  // namespace vitrine::engine
