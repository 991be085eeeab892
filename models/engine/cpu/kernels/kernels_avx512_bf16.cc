// SPDX-License-Identifier: Apache-2.0
// bf16 products with AVX512_BF16. This file includes no library header with inline functions, because the linker could
// choose this file's copies of such functions for the whole program.
#include "models/engine/cpu/kernels/avx512_bf16.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
