// SPDX-License-Identifier: Apache-2.0
// The kernels for AVX2 with FMA. This file includes no library headers (see kernels_avx512.cc).
#include "common/simd/avx2.h"
#include "common/simd/depthwise_kernel.h"
#include "common/simd/product_kernel.h"
#include "models/reference/kernels/kernel_table.h"
#include "models/reference/kernels/training_kernels.h"

namespace vitrine::cpu {
const KernelTable kAvx2Kernels = {.product = RunProduct<Avx2>,
                                  .depthwise = RunDepthwise<Avx2, QuotientGelu>,
                                  .max_over_rows = RunMaxOverRows<Avx2>,
                                  .training = TrainingOf<Avx2>()};

}  // namespace vitrine::cpu
