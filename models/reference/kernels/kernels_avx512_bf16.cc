// SPDX-License-Identifier: Apache-2.0
// The kernels for AVX-512 with AVX512_BF16. This file includes no library headers (see kernels_avx512.cc).
#include "common/simd/avx512.h"
#include "common/simd/depthwise_kernel.h"
#include "common/simd/product_kernel.h"
#include "models/reference/kernels/kernel_table.h"
#include "models/reference/kernels/training_kernels.h"

namespace vitrine::cpu {
const KernelTable kAvx512Bf16Kernels = {.product = RunProduct<Avx512>,
                                        .depthwise = RunDepthwise<Avx512, QuotientGelu>,
                                        .max_over_rows = RunMaxOverRows<Avx512>,
                                        .training = TrainingOf<Avx512>()};

}  // namespace vitrine::cpu
