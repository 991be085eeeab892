// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX-VNNI. This file is built with flags for AVX-VNNI, so it includes no library header with inline
// functions that other files also use.
#include "models/engine/cpu/kernels/avx2_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx2Int8Kernels = NarrowTableOf<Avx2Int8>();

}  // namespace vitrine::engine
