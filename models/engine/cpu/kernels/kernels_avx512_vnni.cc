// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX512_VNNI. This file includes no library header with inline functions, because the linker could
// choose this file's copies of such functions for the whole program.
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Int8Kernels = NarrowTableOf<Avx512Int8>();

}  // namespace vitrine::engine
