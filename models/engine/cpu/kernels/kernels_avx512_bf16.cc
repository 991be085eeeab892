// SPDX-License-Identifier: Apache-2.0
// bf16 products with AVX512_BF16. This file includes no library header with inline functions: the linker could use this
// file's copies, with AVX-512 instructions, in the whole program, which must also run on older CPUs.
#include "models/engine/cpu/kernels/avx512_bf16.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
