// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_NARROW_PRODUCT_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_NARROW_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "common/simd/view.h"
#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/engine/cpu/matrices/packed_matrix.h"

// Products of two bf16 activations; the caller rounds both and lays them out in scratch.
namespace vitrine::engine {

// Returns the number of groups that hold `numbers` numbers along the summed dimension.
inline int64_t GroupsOf(int64_t numbers) {
  return (numbers + 1) / 2;
}

inline int64_t WholeVectors(const NarrowKernels& kernels, int64_t columns) {
  return PanelShape{kernels.vector_columns, kernels.panel_columns}.WholeVectors(columns);
}

// Returns `floats`, rounded up to whole cache lines.
inline int64_t WholeLines(int64_t floats) {
  return (floats + 15) / 16 * 16;
}

// Left operand: rows of 4-byte groups (narrow_kernels.h), or panels whose columns are read as rows.
struct NarrowRows {
  const std::byte* data;
  int64_t stride;  // bytes
  int64_t groups;
  int64_t group_stride = kGroupBytes;  // bytes
};

// Computes y = a b, with b in panels. `zeros` has as many floats as y has columns, padded to whole vectors.
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

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_NARROW_PRODUCT_H_
