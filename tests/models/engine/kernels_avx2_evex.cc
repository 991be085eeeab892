// SPDX-License-Identifier: Apache-2.0
// The int8 kernels for CPUs with AVX-VNNI, compiled for AVX512_VNNI, so that tests can also run them on CPUs without
// AVX-VNNI.
#include "models/engine/cpu/kernels/avx2_int8.h"

namespace vitrine::engine {

extern const NarrowKernels kAvx2Int8KernelsByAvx512;
const NarrowKernels kAvx2Int8KernelsByAvx512 = NarrowTableOf<Avx2Int8>();

}  // namespace vitrine::engine
