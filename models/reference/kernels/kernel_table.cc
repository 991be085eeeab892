// SPDX-License-Identifier: Apache-2.0
#include "models/reference/kernels/kernel_table.h"

namespace vitrine::cpu {

const KernelTable* FindKernels(CpuPath path) {
  if (!IsSupported(path)) return nullptr;
#if defined(__x86_64__)
  if (path == CpuPath::kAvx2) return &kAvx2Kernels;
  if (path == CpuPath::kAvx512) return &kAvx512Kernels;
  if (path == CpuPath::kAvx512Bf16 || path == CpuPath::kAmx) return &kAvx512Bf16Kernels;
#endif
  return &kPortableKernels;
}

}  // namespace vitrine::cpu
