// SPDX-License-Identifier: Apache-2.0
#include "reference/kernels/cpu_path.h"

#include "reference/kernels/kernel_table.h"

namespace vitrine::cpu {

const char* Name(CpuPath path) {
  switch (path) {
    case CpuPath::kPortable:
      return "portable";
    case CpuPath::kAvx2:
      return "avx2";
    case CpuPath::kAvx512:
      return "avx512";
    case CpuPath::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "unknown";
}

const KernelTable* FindKernels(CpuPath path) {
  if (path == CpuPath::kPortable) return &kPortableKernels;
#if defined(__x86_64__)
  if (path == CpuPath::kAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kAvx2Kernels : nullptr;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return nullptr;
  }
  if (path == CpuPath::kAvx512) return &kAvx512Kernels;
  if (__builtin_cpu_supports("avx512bf16")) return &kAvx512Bf16Kernels;
#endif
  return nullptr;
}

std::vector<CpuPath> SupportedPaths() {
  std::vector<CpuPath> paths;
  for (CpuPath path : {CpuPath::kPortable, CpuPath::kAvx2, CpuPath::kAvx512, CpuPath::kAvx512Bf16}) {
    if (FindKernels(path) != nullptr) paths.push_back(path);
  }
  return paths;
}

}  // namespace vitrine::cpu
