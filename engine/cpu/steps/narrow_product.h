// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_STEPS_NARROW_PRODUCT_H_
#define VITRINE_ENGINE_CPU_STEPS_NARROW_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "base/simd/view.h"
#include "engine/cpu/kernels/narrow_kernels.h"
#include "engine/cpu/packed_matrix.h"

// Products of bf16 whose both sides are activations, which steps round and lay out in scratch.
namespace vitrine::engine {

// Groups of so many numbers along a sum.
inline int64_t GroupsOf(int64_t numbers) {
  return (numbers + 1) / 2;
}

inline int64_t WholeVectors(const NarrowKernels& kernels, int64_t columns) {
  return PanelShape{kernels.vector_columns, kernels.panel_columns}.WholeVectors(columns);
}

// Floats of whole cache lines.
inline int64_t WholeLines(int64_t floats) {
  return (floats + 15) / 16 * 16;
}

// Rows of groups, or columns of panels read as rows.
struct NarrowRows {
  const std::byte* data;
  int64_t stride;  // bytes
  int64_t groups;
  int64_t group_stride = kGroupBytes;  // bytes
};

// y = a b, as many rows as y has, for b in panels. `zeros` are as many as y has columns, filled up to whole vectors.
inline void MultiplyBf16(const NarrowKernels& kernels, const NarrowRows& a, const std::byte* b, const float* zeros,
                         cpu::View<float> y) {
  NarrowGemmCall call = {};
  call.a = a.data;
  call.a_stride = a.stride;
  call.rows = y.rows;
  call.groups = a.groups;
  call.group_stride = a.group_stride;
  call.panels = b;
  call.bias = zeros;
  call.columns = y.columns;
  call.y = y.data;
  call.y_stride = y.stride;
  kernels.gemm(call);
}

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_STEPS_NARROW_PRODUCT_H_
