// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX2. This file includes no library header with inline functions. The linker keeps only one copy of an
// inline function for the whole program. A copy from this file could have AVX2 instructions, so the program would crash
// on older CPUs.
#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx2Kernels = TableOf<cpu::Avx2>(cpu::CpuPath::kAvx2);

}  // namespace vitrine::engine
