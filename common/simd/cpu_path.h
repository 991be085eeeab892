// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_CPU_PATH_H_
#define VITRINE_COMMON_SIMD_CPU_PATH_H_

#include <vector>

namespace vitrine::cpu {

// Instruction sets that kernels are compiled for. On each path, every element is computed in a fixed order of
// operations; results of two paths may differ in the last bits.
enum class CpuPath {
  kPortable,    // plain C++ with vectors of four floats, for any CPU
  kNeon,        // AArch64's vectors; int8 and bf16 use the dot products of newer CPUs
  kAvx2,        // AVX2 and FMA
  kAvx512,      // AVX-512 with F, BW, DQ and VL
  kAvx512Bf16,  // kAvx512 and AVX512_BF16, which rounds to bf16 in one instruction
  kAmx,         // kAvx512Bf16, AVX512_VNNI and AMX: tiles of bf16 and of bytes
};

// Returns "portable", "neon", "avx2", "avx512", "avx512_bf16" or "amx".
const char* Name(CpuPath path);

// Returns true if this process can use the instruction set of the path. For AMX, the first call requests permission
// from the operating system, which refuses if a thread's signal stack is too small.
bool IsSupported(CpuPath path);

// Returns the paths that this CPU can run, slowest first. Never empty.
std::vector<CpuPath> SupportedPaths();

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_CPU_PATH_H_
