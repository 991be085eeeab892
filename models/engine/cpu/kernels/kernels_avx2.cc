// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set. Because this file is built with its flags, it includes no library header whose
// inline functions other files share.
#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx2Kernels = TableOf<cpu::Avx2>(cpu::CpuPath::kAvx2);

}  // namespace vitrine::engine
