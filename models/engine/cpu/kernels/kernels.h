// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_KERNELS_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_KERNELS_H_

#include <cstdint>

#include "common/simd/cpu_path.h"
#include "common/simd/depthwise_kernel.h"
#include "common/simd/product_kernel.h"
#include "common/simd/view.h"
#include "models/engine/activation.h"

namespace vitrine::engine {

// y = residual + activation(a W^T + b), fp32: a [rows, parts * inner], y and residual [rows, columns]. A row of `a`
// consists of `parts` pieces of `inner` floats, part_stride apart. For a convolution, the pieces are the rows of a
// pixel's neighbourhood.
//
// Each element of y is a sum over one row of `a`. The sum starts with the bias and has a fixed order, so it does not
// depend on the number or order of the rows. y may be the residual itself (same data, same stride); otherwise y
// overlaps no input.
struct GemmCall {
  const float* a;
  int64_t a_stride;
  int64_t rows;
  int64_t inner;
  const float* panels;  // see PackedMatrix
  const float* bias;    // padded with zeros to whole vectors
  int64_t columns;
  Activation activation;
  const float* residual;  // may be null
  int64_t residual_stride;
  float* y;
  int64_t y_stride;
  int64_t parts = 1;
  int64_t part_stride = 0;
};

// Kernels of one instruction set. Rows may have any stride and alignment. A View y may be the View x itself. For gemm,
// product and depthwise, the comments on their call structs state which overlaps are allowed. No kernel allocates
// memory or takes locks.
struct Kernels {
  cpu::CpuPath path;
  int vector_columns;  // floats per vector
  int panel_columns;   // outputs of a gemm register tile

  void (*gemm)(const GemmCall& call);
  // Computes y[i, j] = sum over k of a(i, k) * b[k, j], in order of k.
  void (*product)(const cpu::ProductCall& call);
  void (*depthwise)(const cpu::DepthwiseCall& call);
  // Computes (x - mean) / sqrt(variance + epsilon) of every row.
  void (*normalize)(cpu::View<const float> x, float epsilon, cpu::View<float> y);
  // Normalizes like `normalize`, then multiplies by weight and adds bias.
  void (*layer_norm)(cpu::View<const float> x, float epsilon, const float* weight, const float* bias,
                     cpu::View<float> y);
  // Computes x * weight + bias; each column has its own weight and bias.
  void (*affine)(cpu::View<const float> x, const float* weight, const float* bias, cpu::View<float> y);
  void (*add)(cpu::View<const float> x, cpu::View<const float> z, cpu::View<float> y);
  void (*activate)(cpu::View<const float> x, Activation activation, cpu::View<float> y);
  // Scales each row to x * factor / (length + epsilon).
  void (*scale_to_length)(cpu::View<const float> x, float factor, float epsilon, cpu::View<float> y);
  // Computes the softmax of each column of x [rows, columns], in place.
  void (*softmax_columns)(float* x, int64_t rows, int64_t columns);
  // Computes the softmax of `count` floats, in place.
  void (*softmax_row)(float* x, int64_t count);
  // Computes the dot product of z and every row of x.
  void (*dots)(cpu::View<const float> x, const float* z, float* y);
  // Computes 1 / max(length, least) of every column.
  void (*inverse_lengths)(cpu::View<const float> x, float least, float* inverse);

  // Functions for peaks.h. `multiply_adds` uses only registers. `read` sums `count` floats (a multiple of 64) in
  // memory.
  int64_t multiply_adds_of_round;
  float (*multiply_adds)(int64_t rounds);
  float (*read)(const float* from, int64_t count);
};

// Returns the kernels of `path`, or null if this CPU cannot run it. AVX-512 and all later paths have the same Kernels
// and differ only in their NarrowKernels.
const Kernels* FindKernels(cpu::CpuPath path);

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
#endif

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_KERNELS_H_
