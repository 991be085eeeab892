// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_WIDE_ROWS_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_WIDE_ROWS_H_

#include <cstdint>

#include "models/engine/cuda/kernels/arguments.h"

namespace vitrine::cuda {

inline constexpr int kWideFloats = 4;  // floats per access of 16 bytes

// Returns true if each row begins at a multiple of 16 bytes, so that kernels may access several numbers at once. Also
// returns true for a matrix without data.
inline bool HasWideRows(const Matrix& matrix) {
  return reinterpret_cast<uintptr_t>(matrix.data) % (kWideFloats * sizeof(float)) == 0 &&
         matrix.stride % kWideFloats == 0;
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_WIDE_ROWS_H_
