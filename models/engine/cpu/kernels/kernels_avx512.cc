// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX-512. This file includes no library header with inline functions: the linker could use this file's
// copies, with AVX-512 instructions, in the whole program, which must also run on older CPUs.
#include "common/simd/avx512.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx512Kernels = TableOf<cpu::Avx512>(cpu::CpuPath::kAvx512);

}  // namespace vitrine::engine
