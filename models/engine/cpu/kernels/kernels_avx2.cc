// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX2. Because of its flags, this file includes no library header with inline functions of other files.
#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kAvx2Kernels = TableOf<cpu::Avx2>(cpu::CpuPath::kAvx2);

}  // namespace vitrine::engine
