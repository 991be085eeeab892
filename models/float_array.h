// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FLOAT_ARRAY_H_
#define VITRINE_MODELS_FLOAT_ARRAY_H_

#include <cstdint>
#include <span>
#include <vector>

namespace vitrine {

// Floats in row-major order, last axis contiguous: the output type of every engine.
struct FloatArray {
  std::vector<int64_t> shape = {};
  std::vector<float> values = {};  // as many as the product of `shape`

  bool empty() const { return values.empty(); }
  // Returns element `i` along the first axis: a head's matrix, a token's row. Requires a non-empty array.
  std::span<const float> operator[](int64_t i) const {
    const size_t part = values.size() / static_cast<size_t>(shape[0]);
    return std::span(values).subspan(static_cast<size_t>(i) * part, part);
  }
};

// Returns the mean of rows of `width` values. Requires at least one row.
std::vector<float> MeanOfRows(std::span<const float> rows, int64_t width);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FLOAT_ARRAY_H_
