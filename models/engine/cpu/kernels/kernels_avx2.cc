// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX2. This file includes no library header with inline functions: the linker could use this file's
// copies, with AVX2 instructions, in the whole program, which must also run on older CPUs.
#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx2Kernels = TableOf<cpu::Avx2>(cpu::CpuPath::kAvx2);

}  // namespace vitrine::engine
