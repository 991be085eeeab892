// SPDX-License-Identifier: Apache-2.0
// Kernels for any CPU. Like the files of other instruction sets, this file includes no library header with inline
// functions (see kernels_avx2.cc).
#include "common/simd/portable.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kPortableKernels = TableOf<cpu::Portable>(cpu::CpuPath::kPortable);

}  // namespace vitrine::engine
