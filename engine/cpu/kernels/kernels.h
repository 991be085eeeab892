// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_KERNELS_KERNELS_H_
#define VITRINE_ENGINE_CPU_KERNELS_KERNELS_H_

#include <cstdint>

#include "base/simd/cpu_path.h"
#include "base/simd/depthwise_kernel.h"
#include "base/simd/product_kernel.h"
#include "base/simd/view.h"

namespace vitrine::engine {

enum class Activation { kNone, kGelu, kRelu };

// y = residual + activation(a W^T + b), fp32: a [rows, parts * inner], y and residual [rows, columns]. A row of a is
// `parts` pieces of `inner` floats that lie part_stride apart: rows of the neighbourhood of a pixel.
//
// Each element of y is one chain over the row of a that starts at its bias, so it depends on its own row of a alone:
// never on the number of rows, their order or their place. y may be the residual itself (same data, same stride);
// otherwise y overlaps nothing.
struct GemmCall {
  const float* a;
  int64_t a_stride;
  int64_t rows;
  int64_t inner;
  const float* panels;  // see PackedMatrix
  const float* bias;    // filled up with zeros to whole vectors
  int64_t columns;
  Activation activation;
  const float* residual;  // or null
  int64_t residual_stride;
  float* y;
  int64_t y_stride;
  int64_t parts = 1;
  int64_t part_stride = 0;
};

// The kernels of one instruction set. Rows are any number of floats apart and of any alignment; a result may be its
// first input, else nothing overlaps. No kernel takes memory or locks.
struct Kernels {
  cpu::CpuPath path;
  int vector_columns;  // floats of a vector
  int panel_columns;   // outputs that one register tile of gemm has

  void (*gemm)(const GemmCall& call);
  // y[i, j] = sum over k of a(i, k) b[k, j], in order of k.
  void (*product)(const cpu::ProductCall& call);
  void (*depthwise)(const cpu::DepthwiseCall& call);
  // (x - mean) / sqrt(variance + epsilon) of every row.
  void (*normalize)(cpu::View<const float> x, float epsilon, cpu::View<float> y);
  // The same, times weight plus bias.
  void (*layer_norm)(cpu::View<const float> x, float epsilon, const float* weight, const float* bias,
                     cpu::View<float> y);
  // x weight + bias, column by column.
  void (*affine)(cpu::View<const float> x, const float* weight, const float* bias, cpu::View<float> y);
  void (*add)(cpu::View<const float> x, cpu::View<const float> z, cpu::View<float> y);
  void (*activate)(cpu::View<const float> x, Activation activation, cpu::View<float> y);
  // Rows x factor / (length + epsilon).
  void (*scale_to_length)(cpu::View<const float> x, float factor, float epsilon, cpu::View<float> y);
  // Columns of x [rows, columns] that sum to 1.
  void (*softmax_columns)(float* x, int64_t rows, int64_t columns);
  // A row of floats that sum to 1.
  void (*softmax_row)(float* x, int64_t count);
  // x z of every row of x.
  void (*dots)(cpu::View<const float> x, const float* z, float* y);
  // 1 / max(length, least) of every column.
  void (*inverse_lengths)(cpu::View<const float> x, float least, float* inverse);

  // For peaks.h: multiply-adds in registers, and a sum over floats in memory, a multiple of 64.
  int64_t multiply_adds_of_round;
  float (*multiply_adds)(int64_t rounds);
  float (*read)(const float* from, int64_t count);
};

// Null where this CPU cannot run it. From AVX-512 on they are the same: the paths differ in narrower numbers.
const Kernels* FindKernels(cpu::CpuPath path);

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_KERNELS_H_
