// SPDX-License-Identifier: Apache-2.0
// The kernels for any CPU.
#include "common/simd/depthwise_kernel.h"
#include "common/simd/portable.h"
#include "common/simd/product_kernel.h"
#include "models/reference/kernels/kernel_table.h"
#include "models/reference/kernels/training_kernels.h"

namespace vitrine::cpu {
const KernelTable kPortableKernels = {.product = RunProduct<Portable>,
                                      .depthwise = RunDepthwise<Portable, QuotientGelu>,
                                      .max_over_rows = RunMaxOverRows<Portable>,
                                      .training = TrainingOf<Portable>()};

}  // namespace vitrine::cpu
