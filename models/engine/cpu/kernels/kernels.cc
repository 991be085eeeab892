// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/kernels/kernels.h"

#include "models/engine/cpu/kernels/narrow_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace vitrine::engine {
namespace {

#if defined(__x86_64__)
// Returns true if the CPU has AVX-VNNI. Uses CPUID, because some supported compilers do not know this feature by name.
bool HasAvxVnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}
#endif

}  // namespace

const Kernels* FindKernels(cpu::CpuPath path) {
  if (!cpu::IsSupported(path)) return nullptr;
#if defined(__x86_64__)
  if (path == cpu::CpuPath::kAvx2) return &kAvx2Kernels;
  if (path != cpu::CpuPath::kPortable) return &kAvx512Kernels;
#elif defined(__aarch64__)
  if (path == cpu::CpuPath::kNeon) return &kNeonKernels;
#endif
  return &kPortableKernels;
}

const NarrowKernels* FindBf16Kernels(cpu::CpuPath path) {
  if (path == cpu::CpuPath::kPortable) return &kPortableBf16Kernels;
#if defined(__x86_64__)
  if (!cpu::IsSupported(path)) return nullptr;
  if (path == cpu::CpuPath::kAmx) return &kAmxBf16Kernels;
  if (path == cpu::CpuPath::kAvx512Bf16) return &kAvx512Bf16Kernels;
#elif defined(__aarch64__)
  if (path == cpu::CpuPath::kNeon && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0) return &kNeonBf16Kernels;
#endif
  return nullptr;
}

const NarrowKernels* FindInt8Kernels(cpu::CpuPath path) {
  if (path == cpu::CpuPath::kPortable) return &kPortableInt8Kernels;
#if defined(__x86_64__)
  if (!cpu::IsSupported(path)) return nullptr;
  if (path == cpu::CpuPath::kAmx) return &kAmxInt8Kernels;
  if (path == cpu::CpuPath::kAvx2) return HasAvxVnni() ? &kAvx2Int8Kernels : &kAvx2PairsKernels;
  if (__builtin_cpu_supports("avx512vnni")) return &kAvx512Int8Kernels;
#elif defined(__aarch64__)
  if (path == cpu::CpuPath::kNeon && (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) return &kNeonInt8Kernels;
#endif
  return nullptr;
}

}  // namespace vitrine::engine
