// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX512_VNNI. This file is built with flags for AVX512_VNNI, so it includes no library header with
// inline functions that other files also use.
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Int8Kernels = NarrowTableOf<Avx512Int8>();

}  // namespace vitrine::engine
