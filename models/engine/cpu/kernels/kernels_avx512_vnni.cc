// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX512_VNNI. This file includes no library header with inline functions: the linker could use this
// file's copies, with AVX-512 instructions, in the whole program, which must also run on older CPUs.
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Int8Kernels = NarrowTableOf<Avx512Int8>();

}  // namespace vitrine::engine
