// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/matrices/linear_matrix.h"

#include <utility>

namespace vitrine::engine {

LinearMatrix::LinearMatrix(PackedMatrix matrix)
    : matrix_(std::move(matrix)),
      inputs_(wide()->inputs()),
      outputs_(wide()->outputs()),
      weight_floats_(weights()),
      precision_(Precision::kFp32) {}

LinearMatrix::LinearMatrix(NarrowMatrix matrix)
    : matrix_(std::move(matrix)),
      inputs_(narrow()->inputs()),
      outputs_(narrow()->outputs()),
      weight_floats_(narrow()->weight_bytes() / static_cast<int64_t>(sizeof(float))),
      precision_(narrow()->is_of_bytes() ? Precision::kInt8 : Precision::kBf16) {}

}  // namespace vitrine::engine
