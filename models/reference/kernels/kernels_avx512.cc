// SPDX-License-Identifier: Apache-2.0
// The kernels for AVX-512. This file is built with AVX-512 flags (models/reference/CMakeLists.txt), so it must not
// include library headers with inline functions: the linker could use their AVX-512 code for other files too.
#include "common/simd/avx512.h"
#include "common/simd/depthwise_kernel.h"
#include "common/simd/product_kernel.h"
#include "models/reference/kernels/kernel_table.h"
#include "models/reference/kernels/training_kernels.h"

namespace vitrine::cpu {
const KernelTable kAvx512Kernels = {.product = RunProduct<Avx512>,
                                    .depthwise = RunDepthwise<Avx512, QuotientGelu>,
                                    .max_over_rows = RunMaxOverRows<Avx512>,
                                    .training = TrainingOf<Avx512>()};

}  // namespace vitrine::cpu
