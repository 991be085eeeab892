// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/packed_matrix.h"

#include <algorithm>

namespace vitrine::engine {
namespace {

// Inputs of a panel that are written together: a block stays in the first cache while rows pass through it.
constexpr int64_t kBlock = 16;

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

PackedMatrix::PackedMatrix(cpu::View<const float> weight, const float* bias, const Kernels& kernels)
    : inputs_(weight.columns),
      outputs_(weight.rows),
      panels_(RoundUp(weight.rows, kernels.vector_columns) * weight.columns),
      bias_(RoundUp(weight.rows, kernels.vector_columns)) {
  for (int64_t first = 0; first < outputs_; first += kernels.panel_columns) {
    const int64_t outputs = std::min<int64_t>(kernels.panel_columns, outputs_ - first);
    const int64_t width = RoundUp(outputs, kernels.vector_columns);
    float* const panel = panels_.data() + first * inputs_;
    for (int64_t begin = 0; begin < inputs_; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, inputs_);
      for (int64_t output = 0; output < outputs; ++output) {
        const float* const row = weight.Row(first + output);
        for (int64_t input = begin; input < end; ++input) panel[input * width + output] = row[input];
      }
    }
  }
  if (bias != nullptr) std::copy(bias, bias + outputs_, bias_.data());
}

}  // namespace vitrine::engine
