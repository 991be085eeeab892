// SPDX-License-Identifier: Apache-2.0
// bf16 products with AVX512_BF16. This file is built with flags for AVX512_BF16, so it includes no library header with
// inline functions that other files also use.
#include "models/engine/cpu/kernels/avx512_bf16.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
