// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX-VNNI. Because this file is built with its flags, it includes no library header whose inline
// functions other files share.
#include "models/engine/cpu/kernels/avx2_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx2Int8Kernels = NarrowTableOf<Avx2Int8>();

}  // namespace vitrine::engine
