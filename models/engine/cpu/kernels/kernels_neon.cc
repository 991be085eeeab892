// SPDX-License-Identifier: Apache-2.0
// Kernels for NEON. Like the files of other instruction sets, this file includes no library header with inline
// functions (see kernels_avx2.cc).
#if defined(__aarch64__)  // static analysis reads this file on other CPUs too
#include "common/simd/neon.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kNeonKernels = TableOf<cpu::Neon>(cpu::CpuPath::kNeon);

}  // namespace vitrine::engine

#endif
