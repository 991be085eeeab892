// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set. Built with its flags, so it includes nothing of the library whose inline
// functions other files share.
#include "common/simd/avx512.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx512Kernels = TableOf<cpu::Avx512>(cpu::CpuPath::kAvx512);

}  // namespace vitrine::engine
