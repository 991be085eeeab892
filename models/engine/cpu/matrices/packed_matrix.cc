// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/matrices/packed_matrix.h"

#include <algorithm>
#include <cstring>

namespace vitrine::engine {
namespace {

// Number of inputs that are packed before the next inputs are begun, so that their part of the panel stays in the L1
// cache.
constexpr int64_t kBlock = 16;

}  // namespace

AlignedFloats PackPanels(cpu::View<const float> weight, PanelShape shape) {
  const int64_t inputs = weight.columns;
  AlignedFloats panels(shape.WholeVectors(weight.rows) * inputs);
  for (int64_t first = 0; first < weight.rows; first += shape.panel_columns) {
    const int64_t outputs = std::min<int64_t>(shape.panel_columns, weight.rows - first);
    const int64_t width = shape.WholeVectors(outputs);
    float* const panel = panels.data() + first * inputs;
    for (int64_t begin = 0; begin < inputs; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, inputs);
      for (int64_t output = 0; output < outputs; ++output) {
        const float* const row = weight.Row(first + output);
        // Copies bytes, because an element may be a group of bf16 or int8 numbers. On some CPUs, a copy as a float
        // could change its bits.
        for (int64_t input = begin; input < end; ++input) {
          std::memcpy(&panel[input * width + output], &row[input], sizeof(float));
        }
      }
    }
  }
  return panels;
}

PackedMatrix::PackedMatrix(cpu::View<const float> weight, const float* bias, const Kernels& kernels)
    : inputs_(weight.columns),
      outputs_(weight.rows),
      panels_(PackPanels(weight, {kernels.vector_columns, kernels.panel_columns})),
      bias_(PanelShape{kernels.vector_columns, kernels.panel_columns}.WholeVectors(outputs_)) {
  if (bias != nullptr) std::copy(bias, bias + outputs_, bias_.data());
}

}  // namespace vitrine::engine
