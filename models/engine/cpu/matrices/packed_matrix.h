// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_MATRICES_PACKED_MATRIX_H_
#define VITRINE_MODELS_ENGINE_CPU_MATRICES_PACKED_MATRIX_H_

#include <cstdint>

#include "common/simd/view.h"
#include "models/engine/cpu/aligned_floats.h"
#include "models/engine/cpu/kernels/kernels.h"

namespace vitrine::engine {

// Outputs per vector and per register tile, which determine the layout of weights.
struct PanelShape {
  int64_t vector_columns;
  int64_t panel_columns;

  int64_t WholeVectors(int64_t outputs) const {
    return (outputs + vector_columns - 1) / vector_columns * vector_columns;
  }
};

// Packs weights [outputs, inputs] in the order in which a register tile reads them. An element is a float, or a 4-byte
// group of narrower numbers (narrow_kernels.h).
//
// The outputs are cut into panels as wide as a tile; the width of the last panel is rounded up to whole vectors. A
// panel has the weights of all its outputs for the first input, then the weights for the second input, and so on.
// Padding is zero.
AlignedFloats PackPanels(cpu::View<const float> weight, PanelShape shape);

// Weights W [outputs, inputs] and bias of y = x W^T + b for Kernels::gemm. Immutable; thread-safe.
class PackedMatrix {
 public:
  // `bias` has one float per row of `weight`, or is null for zeros. Both are copied.
  PackedMatrix(cpu::View<const float> weight, const float* bias, const Kernels& kernels);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  const float* panels() const { return panels_.data(); }
  const float* bias() const { return bias_.data(); }

 private:
  int64_t inputs_;
  int64_t outputs_;
  AlignedFloats panels_;
  AlignedFloats bias_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_MATRICES_PACKED_MATRIX_H_
