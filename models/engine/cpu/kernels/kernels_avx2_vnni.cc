// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX-VNNI. This file includes no library header with inline functions. The linker keeps only one
// copy of an inline function for the whole program. A copy from this file could have AVX2 or AVX-VNNI instructions, so
// the program would crash on older CPUs.
#include "models/engine/cpu/kernels/avx2_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx2Int8Kernels = NarrowTableOf<Avx2Int8>();

}  // namespace vitrine::engine
