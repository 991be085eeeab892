// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_LAYER_NORM_H_
#define VITRINE_MODELS_KERNELS_CPU_LAYER_NORM_H_

#include <cassert>

#include "models/kernels/cpu/kernel_table.h"
#include "models/kernels/cpu/view.h"

namespace vitrine::cpu {

// y = (x - mean) / sqrt(variance + epsilon), row by row: layer normalisation less its scale and shift, which are folded
// into the weights that read y (fold.h).
//
// x and y [rows, columns], any alignment and strides; y may be x where both are fp32. For bf16 an odd number of columns
// is filled up with one zero, so the stride of y is even. The mean is taken before the variance. Each row is computed
// from itself alone. Thread-safe; takes no memory and no locks. `kernels` is of the precision of y.
inline void NormalizeRows(const KernelTable& kernels, View<const float> x, float epsilon, View<float> y) {
  assert(kernels.precision == Precision::kFp32 && x.rows == y.rows && x.columns == y.columns);
  kernels.normalize_rows(x, epsilon, y.data, y.stride);
}
inline void NormalizeRows(const KernelTable& kernels, View<const float> x, float epsilon, View<Bf16> y) {
  assert(kernels.precision == Precision::kBf16 && x.rows == y.rows && x.columns == y.columns);
  kernels.normalize_rows(x, epsilon, y.data, y.stride);
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_LAYER_NORM_H_
