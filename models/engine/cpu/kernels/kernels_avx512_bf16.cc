// SPDX-License-Identifier: Apache-2.0
// bf16 products with AVX512_BF16. This file includes no library header with inline functions. The linker keeps only one
// copy of an inline function for the whole program. A copy from this file could have AVX-512 instructions, so the
// program would crash on older CPUs.
#include "models/engine/cpu/kernels/avx512_bf16.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
