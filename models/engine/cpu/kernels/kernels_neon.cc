// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set. Because this file is built with its flags, it includes no library header whose
// inline functions other files share.
#include "common/simd/neon.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kNeonKernels = TableOf<cpu::Neon>(cpu::CpuPath::kNeon);

}  // namespace vitrine::engine
