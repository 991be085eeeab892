// SPDX-License-Identifier: Apache-2.0
#include "common/simd/cpu_path.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace vitrine::cpu {
namespace {

#if defined(__x86_64__)
// Uses CPUID, because older compilers have no names for these features.
bool HasTiles() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;  // leaf 7, edx
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kBf16) == 0 || (edx & kTile) == 0 || (edx & kInt8) == 0) return false;
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h, since Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

}  // namespace

const char* Name(CpuPath path) {
  switch (path) {
    case CpuPath::kPortable:
      return "portable";
    case CpuPath::kNeon:
      return "neon";
    case CpuPath::kAvx2:
      return "avx2";
    case CpuPath::kAvx512:
      return "avx512";
    case CpuPath::kAvx512Bf16:
      return "avx512_bf16";
    case CpuPath::kAmx:
      return "amx";
  }
  return "unknown";
}

bool IsSupported(CpuPath path) {
  if (path == CpuPath::kPortable) return true;
#if defined(__x86_64__)
  if (path == CpuPath::kNeon) return false;
  if (path == CpuPath::kAvx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (path == CpuPath::kAvx512) return avx512;
  const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  if (path == CpuPath::kAvx512Bf16) return bf16;
  static const bool has_tiles = HasTiles();
  return bf16 && __builtin_cpu_supports("avx512vnni") && has_tiles;
#elif defined(__aarch64__)
  return path == CpuPath::kNeon;
#else
  return false;
#endif
}

std::vector<CpuPath> SupportedPaths() {
  std::vector<CpuPath> paths;
  for (CpuPath path :
       {CpuPath::kPortable, CpuPath::kNeon, CpuPath::kAvx2, CpuPath::kAvx512, CpuPath::kAvx512Bf16, CpuPath::kAmx}) {
    if (IsSupported(path)) paths.push_back(path);
  }
  return paths;
}

}  // namespace vitrine::cpu
