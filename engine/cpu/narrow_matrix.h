// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_NARROW_MATRIX_H_
#define VITRINE_ENGINE_CPU_NARROW_MATRIX_H_

#include <cstddef>
#include <cstdint>

#include "base/simd/view.h"
#include "engine/cpu/aligned_floats.h"
#include "engine/cpu/kernels/narrow_kernels.h"

namespace vitrine::engine {

// Products of a byte of 0 to 255 and a weight of -127 to 127 whose sum surely fits 32 bits.
inline constexpr int64_t kMostByteInputs = 0x7fffffff / (255 * 127);

// The weights W [outputs, inputs] and the bias of y = x W^T + b as bf16 or as bytes, in panels of groups (see
// PackPanels). bf16 is the nearest there is; bytes are those of the largest weight of each output, from -127 to 127.
// Immutable; thread-safe.
class NarrowMatrix {
 public:
  // `bias` as PackedMatrix's. A row of the left side is `parts` pieces of equally many inputs, each of which begins
  // with a group of its own. Of bytes at most kMostByteInputs.
  NarrowMatrix(cpu::View<const float> weight, const float* bias, const NarrowKernels& kernels, int64_t parts = 1);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  int64_t groups() const { return groups_; }  // of a part
  // Of a row of the left side that has one part, and of all weights.
  int64_t row_bytes() const { return groups_ * kGroupBytes; }
  int64_t weight_bytes() const { return panels_.count() * kGroupBytes; }
  bool is_of_bytes() const { return kernels_->of_bytes; }
  const NarrowKernels& kernels() const { return *kernels_; }

  // A call with all that is the matrix's filled in.
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

#endif  // VITRINE_ENGINE_CPU_NARROW_MATRIX_H_
