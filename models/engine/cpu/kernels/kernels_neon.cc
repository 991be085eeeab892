// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set. Because this file is built with its flags, it includes no library header whose
// inline functions other files share.
#if defined(__aarch64__)  // checks of all sources also read this file on other CPUs
#include "common/simd/neon.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kNeonKernels = TableOf<cpu::Neon>(cpu::CpuPath::kNeon);

}  // namespace vitrine::engine

#endif
