// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_KERNELS_KERNEL_TABLE_H_
#define VITRINE_MODELS_REFERENCE_KERNELS_KERNEL_TABLE_H_

#include <cstdint>

#include "common/simd/cpu_path.h"
#include "common/simd/depthwise_kernel.h"
#include "common/simd/product_kernel.h"
#include "common/simd/view.h"
#include "models/reference/kernels/training_table.h"

namespace vitrine::cpu {

// Kernels of one CpuPath. Each table is a constant in the file that is compiled for its instruction set.
struct KernelTable {
  void (*product)(const ProductCall& call);
  void (*depthwise)(const DepthwiseCall& call);
  // Finds the largest value of each column of `rows` [count, width], count <= 256, and the index of the first row with
  // this value.
  void (*max_over_rows)(const float* rows, int64_t count, int64_t width, float* largest, uint8_t* winner);
  TrainingTable training;
};

// Returns null if this CPU cannot run `path`.
const KernelTable* FindKernels(CpuPath path);

extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;
#endif

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_REFERENCE_KERNELS_KERNEL_TABLE_H_
