// SPDX-License-Identifier: Apache-2.0
// Kernels for any CPU. Like files of other instruction sets, it includes no library header with inline functions.
#include "common/simd/portable.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kPortableKernels = TableOf<cpu::Portable>(cpu::CpuPath::kPortable);

}  // namespace vitrine::engine
