// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX512_VNNI. Because this file is built with its flags, it includes no library header whose inline
// functions other files share.
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Int8Kernels = NarrowTableOf<Avx512Int8>();

}  // namespace vitrine::engine
