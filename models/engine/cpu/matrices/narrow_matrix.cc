// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/matrices/narrow_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/simd/bf16.h"
#include "models/engine/cpu/matrices/packed_matrix.h"

namespace vitrine::engine {
namespace {

constexpr float kLargest = 127;

void PutBf16(const float* row, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    const cpu::Bf16 number = cpu::ToBf16(row[i]);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(number)), &number, sizeof(number));
  }
}

// Quantizes `count` weights to int8 and writes them as `Number` values. Returns the sum of the written values.
template <typename Number>
int64_t PutBytes(const float* row, int64_t count, float inverse, std::byte* to) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<Number>(std::lrint(std::clamp(row[i] * inverse, -kLargest, kLargest)));
    std::memcpy(to + i * static_cast<int64_t>(sizeof(number)), &number, sizeof(number));
    sum += number;
  }
  return sum;
}

}  // namespace

NarrowMatrix::NarrowMatrix(cpu::View<const float> weight, const float* bias, const NarrowKernels& kernels,
                           int64_t parts)
    : kernels_(&kernels),
      inputs_(weight.columns),
      outputs_(weight.rows),
      parts_(parts),
      groups_((weight.columns / parts + kernels.numbers_of_group - 1) / kernels.numbers_of_group) {
  const PanelShape shape{kernels.vector_columns, kernels.panel_columns};
  bias_ = AlignedFloats(shape.WholeVectors(outputs_));
  scale_ = AlignedFloats(is_of_bytes() ? shape.WholeVectors(outputs_) : 0);
  sums_ = AlignedFloats(scale_.count());
  if (bias != nullptr) std::copy(bias, bias + outputs_, bias_.data());
  AlignedFloats words(outputs_ * parts * groups_);  // each element is a group
  const int64_t part_inputs = inputs_ / parts;
  for (int64_t output = 0; output < outputs_; ++output) {
    const float* const row = weight.Row(output);
    float largest = 0;
    for (int64_t i = 0; i < inputs_; ++i) largest = std::max(largest, std::abs(row[i]));
    const float scale = largest / kLargest;
    int64_t sum = 0;
    for (int64_t part = 0; part < parts; ++part) {
      auto* const to = reinterpret_cast<std::byte*>(words.data() + (output * parts + part) * groups_);
      if (is_of_bytes()) {
        const auto put = kernels.numbers_of_group == 4 ? PutBytes<int8_t> : PutBytes<int16_t>;
        sum += put(row + part * part_inputs, part_inputs, scale > 0 ? 1 / scale : 0, to);
      } else {
        PutBf16(row + part * part_inputs, part_inputs, to);
      }
    }
    if (is_of_bytes()) {
      scale_.data()[output] = scale;
      sums_.data()[output] = static_cast<float>(scale * static_cast<double>(sum));
    }
  }
  const int64_t columns = parts * groups_;
  panels_ = PackPanels({words.data(), outputs_, columns, columns}, shape);
}

NarrowGemmCall NarrowMatrix::Call() const {
  NarrowGemmCall call = {};
  call.groups = groups_;
  call.panels = reinterpret_cast<const std::byte*>(panels_.data());
  call.bias = bias_.data();
  call.scale = scale_.data();
  call.sums = sums_.data();
  call.columns = outputs_;
  call.parts = parts_;
  return call;
}

}  // namespace vitrine::engine
