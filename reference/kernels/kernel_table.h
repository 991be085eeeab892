// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_KERNELS_KERNEL_TABLE_H_
#define VITRINE_REFERENCE_KERNELS_KERNEL_TABLE_H_

#include <cstdint>

#include "reference/kernels/cpu_path.h"
#include "reference/kernels/training_table.h"
#include "reference/kernels/view.h"

namespace vitrine::cpu {

// A small product of matrices where they lie: y[i, j] = sum over k of a(i, k) b[k, j], fp32. Any alignment; y overlaps
// neither a nor b. Each sum is taken over k in order.
struct ProductCall {
  const float* a;
  int64_t a_row;    // from a(i, k) to a(i + 1, k)
  int64_t a_inner;  // from a(i, k) to a(i, k + 1)
  const float* b;
  int64_t b_stride;  // from b[k, j] to b[k + 1, j]
  int64_t rows;
  int64_t inner;
  int64_t columns;
  float* y;
  int64_t y_stride;
};

// A 3x3 convolution of every channel by itself over the grid of one image, zeros beyond its border, fp32:
// y = bias + sum over the neighbours, or with a scale y = scale GELU(that) + shift. x and y are [rows columns,
// channels] and do not overlap.
struct DepthwiseCall {
  const float* x;
  int64_t x_stride;
  int64_t rows;
  int64_t columns;
  int64_t channels;
  const float* weights;  // [9, channels], neighbours row by row
  const float* bias;     // [channels]
  const float* zeros;    // [channels] zeros
  const float* scale;    // [channels] or null
  const float* shift;    // [channels] where there is a scale
  float* y;
  int64_t y_stride;
};

// The kernels of one path. Tables are constants that live in the file built for their instruction set.
struct KernelTable {
  void (*product)(const ProductCall& call);
  void (*depthwise)(const DepthwiseCall& call);
  // The largest of `count` <= 256 rows of `width` values, and which row it was in, the first among equals.
  void (*max_over_rows)(const float* rows, int64_t count, int64_t width, float* largest, uint8_t* winner);
  TrainingTable training;
};

// Null where this CPU cannot run it.
const KernelTable* FindKernels(CpuPath path);

extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;
#endif

}  // namespace vitrine::cpu

#endif  // VITRINE_REFERENCE_KERNELS_KERNEL_TABLE_H_
