// SPDX-License-Identifier: Apache-2.0
// int8 products by AVX-VNNI. Built with its flags, so it includes nothing of the library whose inline functions other
// files share.
#include "models/engine/cpu/kernels/avx2_int8.h"

namespace vitrine::engine {

const NarrowKernels kAvx2Int8Kernels = NarrowTableOf<Avx2Int8>();

}  // namespace vitrine::engine
