// SPDX-License-Identifier: Apache-2.0
// int8 products by AVX512_VNNI. Built with its flags, so it includes nothing of the library whose inline functions
// other files share.
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx512Int8Kernels = NarrowTableOf<Avx512Int8>();

}  // namespace vitrine::engine
