// SPDX-License-Identifier: Apache-2.0
#include "base/simd/cpu_path.h"

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

bool IsSupported(CpuPath path) {
  if (path == CpuPath::kPortable) return true;
#if defined(__x86_64__)
  if (path == CpuPath::kAvx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 && (path == CpuPath::kAvx512 || __builtin_cpu_supports("avx512bf16"));
#else
  return false;
#endif
}

std::vector<CpuPath> SupportedPaths() {
  std::vector<CpuPath> paths;
  for (CpuPath path : {CpuPath::kPortable, CpuPath::kAvx2, CpuPath::kAvx512, CpuPath::kAvx512Bf16}) {
    if (IsSupported(path)) paths.push_back(path);
  }
  return paths;
}

}  // namespace vitrine::cpu
