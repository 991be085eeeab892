// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX-512. This file includes no library header with inline functions. The linker keeps only one copy of an
// inline function for the whole program. A copy from this file could have AVX-512 instructions, so the program would
// crash on older CPUs.
#include "common/simd/avx512.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx512Kernels = TableOf<cpu::Avx512>(cpu::CpuPath::kAvx512);

}  // namespace vitrine::engine
