// SPDX-License-Identifier: Apache-2.0
// bf16 products by AVX512_BF16. Built with its flags, so it includes nothing of the library whose inline functions
// other files share.
#include "models/engine/cpu/kernels/avx512_bf16.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
