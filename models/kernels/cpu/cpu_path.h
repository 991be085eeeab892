// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_CPU_PATH_H_
#define VITRINE_MODELS_KERNELS_CPU_CPU_PATH_H_

#include <vector>

namespace vitrine::cpu {

// The instruction sets that the kernels are built for. Each path gives every element its own fixed order of operations;
// two paths may differ in the last bits.
enum class CpuPath {
  kPortable,  // plain C++ with vectors of four floats, any CPU
  kAvx2,      // AVX2 and FMA
  kAvx512,    // AVX-512 F, BW, DQ and VL; bf16 where AVX512_BF16 is there as well
};

// How weights are stored and products are taken. Sums, norms, GELU and residuals are fp32 in either.
enum class Precision { kFp32, kBf16 };

// "portable", "avx2", "avx512"; "fp32", "bf16".
const char* Name(CpuPath path);
const char* Name(Precision precision);

// Whether this CPU can run the path, and its kernels of that precision.
bool Supports(CpuPath path, Precision precision = Precision::kFp32);

// The paths that this CPU can run, slowest first; never empty.
std::vector<CpuPath> SupportedPaths();

// The last of them.
CpuPath BestPath();

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_CPU_PATH_H_
