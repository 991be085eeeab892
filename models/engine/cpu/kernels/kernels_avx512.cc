// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX-512. This file includes no library header with inline functions, because the linker could choose this
// file's copies of such functions for the whole program.
#include "common/simd/avx512.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx512Kernels = TableOf<cpu::Avx512>(cpu::CpuPath::kAvx512);

}  // namespace vitrine::engine
