// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_MATRICES_NARROW_MATRIX_H_
#define VITRINE_MODELS_ENGINE_CPU_MATRICES_NARROW_MATRIX_H_

#include <cstddef>
#include <cstdint>

#include "common/simd/view.h"
#include "models/engine/cpu/aligned_floats.h"
#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/engine/precision.h"

namespace vitrine::engine {

// Weights W [outputs, inputs] and bias of y = x W^T + b in bf16 or int8, in panels of groups (see PackPanels). bf16
// weights are rounded to nearest; int8 weights are scaled so that the largest magnitude of each output becomes 127.
// Immutable; thread-safe.
class NarrowMatrix {
 public:
  // `bias` is as in PackedMatrix. A row of the left operand has `parts` pieces with equal numbers of inputs; each piece
  // starts a new group. An int8 matrix has at most kMostByteInputs inputs.
  NarrowMatrix(cpu::View<const float> weight, const float* bias, const NarrowKernels& kernels, int64_t parts = 1);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  int64_t groups() const { return groups_; }  // groups per part
  // Return the size in bytes of one part of a left-operand row, and of all weights.
  int64_t row_bytes() const { return groups_ * kGroupBytes; }
  int64_t weight_bytes() const { return panels_.count() * kGroupBytes; }
  bool is_of_bytes() const { return kernels_->of_bytes; }
  const NarrowKernels& kernels() const { return *kernels_; }

  // Returns a call with all fields that the matrix determines.
  NarrowGemmCall Call() const;

 private:
  const NarrowKernels* kernels_;
  int64_t inputs_;
  int64_t outputs_;
  int64_t parts_;
  int64_t groups_;
  AlignedFloats panels_;
  AlignedFloats bias_, scale_, sums_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_MATRICES_NARROW_MATRIX_H_
