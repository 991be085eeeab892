// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX2. This file includes no library header with inline functions, because the linker could choose this
// file's copies of such functions for the whole program.
#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx2Kernels = TableOf<cpu::Avx2>(cpu::CpuPath::kAvx2);

}  // namespace vitrine::engine
