// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_GELU_H_
#define VITRINE_MODELS_KERNELS_CPU_GELU_H_

#include <cstdint>

#include "models/kernels/cpu/kernel_table.h"

namespace vitrine::cpu {

// y = x * Phi(x), the exact GELU (by erf), for `count` values of any alignment; y may be x. The error is below
// 3e-7 * max(1, |x|); beyond |x| = 5.5 the result is x or zero. The engine applies the same function inside of
// ApplyLinear; this form is for activations that follow something else. Thread-safe.
inline void Gelu(const KernelTable& kernels, const float* x, float* y, int64_t count) {
  kernels.gelu(x, y, count);
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_GELU_H_
