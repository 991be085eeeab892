// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set. Built with its flags, so it includes nothing of the library whose inline
// functions other files share.
#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx2Kernels = TableOf<cpu::Avx2>(cpu::CpuPath::kAvx2);

}  // namespace vitrine::engine
