// SPDX-License-Identifier: Apache-2.0
// int8 kernels for machines with AVX-VNNI, built for AVX512_VNNI, so that more machines test them.
#include "models/engine/cpu/kernels/avx2_int8.h"

namespace vitrine::engine {

extern const NarrowKernels kAvx2Int8KernelsByAvx512;
const NarrowKernels kAvx2Int8KernelsByAvx512 = NarrowTableOf<Avx2Int8>();

}  // namespace vitrine::engine
