// SPDX-License-Identifier: Apache-2.0
// bf16 products with AVX512_BF16. Because this file is built with its flags, it includes no library header whose inline
// functions other files share.
#include "models/engine/cpu/kernels/avx512_bf16.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
