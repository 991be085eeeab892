// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/cpu/cpu_path.h"

#include "models/kernels/cpu/kernel_table.h"

namespace vitrine::cpu {

const char* Name(CpuPath path) {
  switch (path) {
    case CpuPath::kPortable:
      return "portable";
    case CpuPath::kAvx2:
      return "avx2";
    case CpuPath::kAvx512:
      return "avx512";
  }
  return "unknown";
}

const char* Name(Precision precision) {
  return precision == Precision::kFp32 ? "fp32" : "bf16";
}

const KernelTable* FindKernels(CpuPath path, Precision precision) {
  const bool fp32 = precision == Precision::kFp32;
  if (path == CpuPath::kPortable) return fp32 ? &kPortableFp32 : nullptr;
#if defined(__x86_64__)
  if (path == CpuPath::kAvx2) {
    return fp32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kAvx2Fp32 : nullptr;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return nullptr;
  }
  if (fp32) return &kAvx512Fp32;
  if (__builtin_cpu_supports("avx512bf16")) return &kAvx512Bf16;
#endif
  return nullptr;
}

bool Supports(CpuPath path, Precision precision) {
  return FindKernels(path, precision) != nullptr;
}

std::vector<CpuPath> SupportedPaths() {
  std::vector<CpuPath> paths;
  for (CpuPath path : {CpuPath::kPortable, CpuPath::kAvx2, CpuPath::kAvx512}) {
    if (Supports(path)) paths.push_back(path);
  }
  return paths;
}

CpuPath BestPath() {
  return SupportedPaths().back();
}

}  // namespace vitrine::cpu
