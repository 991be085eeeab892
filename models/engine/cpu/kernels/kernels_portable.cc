// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set. Built with its flags, so it includes nothing of the library whose inline
// functions other files share.
#include "common/simd/portable.h"
#include "models/engine/cpu/kernels/table.h"

namespace vitrine::engine {

const Kernels kPortableKernels = TableOf<cpu::Portable>(cpu::CpuPath::kPortable);

}  // namespace vitrine::engine
