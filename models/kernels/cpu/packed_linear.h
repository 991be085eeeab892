// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_PACKED_LINEAR_H_
#define VITRINE_MODELS_KERNELS_CPU_PACKED_LINEAR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/kernels/cpu/aligned_buffer.h"
#include "models/kernels/cpu/cpu_path.h"
#include "models/kernels/cpu/view.h"

namespace vitrine::cpu {

struct KernelTable;

// The weights W [outputs, inputs] and the bias b [outputs] of y = x W^T + b, in the order in which the kernels of one
// path and precision read them.
//
// The outputs are cut into panels as wide as a register tile; the last one is only as wide as its outputs rounded up to
// a vector. A panel holds one step after the other: for fp32 one weight of each of its outputs, for bf16 two adjacent
// weights of each. Outputs and inputs that only fill up are zero. Immutable; movable; thread-safe.
class PackedLinear {
 public:
  // `weight` [outputs, inputs], at least 1 x 1; `bias` has as many floats as there are outputs, or is null for zeros.
  // Both are copied. FAILED_PRECONDITION where this CPU cannot run the path in that precision.
  static absl::StatusOr<PackedLinear> Pack(View<const float> weight, const float* bias, CpuPath path,
                                           Precision precision);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  const KernelTable& kernels() const { return *kernels_; }
  const void* panels() const { return panels_.data(); }
  // Filled up with zeros to whole vectors.
  const float* bias() const { return reinterpret_cast<const float*>(bias_.data()); }
  int64_t bytes() const { return panels_.bytes() + bias_.bytes(); }

 private:
  PackedLinear(View<const float> weight, const float* bias, const KernelTable& kernels);

  const KernelTable* kernels_;
  int64_t inputs_;
  int64_t outputs_;
  AlignedBuffer panels_;
  AlignedBuffer bias_;
};

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_PACKED_LINEAR_H_
