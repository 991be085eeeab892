// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_CPU_PATH_H_
#define VITRINE_COMMON_SIMD_CPU_PATH_H_

#include <vector>

namespace vitrine::cpu {

// Instruction sets that kernels are built for. Each path computes each element in its own fixed order of operations;
// two paths may differ in the last bits.
enum class CpuPath {
  kPortable,    // plain C++ with vectors of four floats, any CPU
  kAvx2,        // AVX2 and FMA
  kAvx512,      // AVX-512 F, BW, DQ and VL
  kAvx512Bf16,  // with AVX512_BF16, which rounds to bf16 in one instruction
  kAmx,         // with AVX512_VNNI and AMX: tiles of bf16 and of bytes
};

// Returns "portable", "avx2", "avx512", "avx512_bf16" or "amx".
const char* Name(CpuPath path);

// Returns true if this CPU can run the path. For AMX the first call requests the kernel's permission for the process,
// which is denied if a thread's signal stack is too small.
bool IsSupported(CpuPath path);

// Returns the paths that this CPU can run, slowest first; never empty.
std::vector<CpuPath> SupportedPaths();

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_CPU_PATH_H_
