// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/matrices.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/simd/bf16.h"
#include "models/engine/cuda/kernels/fast/linear_tiles.h"

namespace vitrine::cuda {
namespace {

using engine::LinearWeights;

size_t PaddedOutputs(size_t outputs) {
  return (outputs + kWeightRows - 1) / kWeightRows * kWeightRows;
}

// Returns the converted weights in the order of `layout`.
template <class Number, class Convert>
std::vector<Number> Laid(const LinearWeights& weights, MatrixLayout layout, Convert convert) {
  const size_t outputs = weights.bias.size(), inputs = weights.weight.size() / outputs;
  const bool by_outputs = layout == MatrixLayout::kByOutputs;
  std::vector<Number> numbers((by_outputs ? PaddedOutputs(outputs) : outputs) * inputs);
  for (size_t output = 0; output < outputs; ++output) {
    for (size_t input = 0; input < inputs; ++input) {
      numbers[by_outputs ? output * inputs + input : input * outputs + output] =
          convert(weights.weight[output * inputs + input], output);
    }
  }
  return numbers;
}

// Weights as integers from -127 to 127, and the scale of each output. The integers equal the weights of
// engine::NarrowMatrix.
struct Bytes {
  Bytes(const LinearWeights& weights, MatrixLayout layout) {
    constexpr float kLargest = 127;
    const size_t outputs = weights.bias.size(), inputs = weights.weight.size() / outputs;
    for (size_t output = 0; output < outputs; ++output) {
      float largest = 0;
      for (size_t i = 0; i < inputs; ++i) largest = std::max(largest, std::abs(weights.weight[output * inputs + i]));
      scale.push_back(largest / kLargest);
    }
    std::vector<int64_t> totals(outputs);
    numbers = Laid<int8_t>(weights, layout, [&](float weight, size_t output) {
      const float inverse = scale[output] > 0 ? 1 / scale[output] : 0;
      const auto number = static_cast<int8_t>(std::lrint(std::clamp(weight * inverse, -kLargest, kLargest)));
      totals[output] += number;
      return number;
    });
    for (size_t output = 0; output < outputs; ++output) {
      sums.push_back(static_cast<float>(scale[output] * static_cast<double>(totals[output])));
    }
  }
  std::vector<int8_t> numbers;
  std::vector<float> scale, sums;
};

}  // namespace

const DeviceMatrix& DeviceMatrices::Find(const engine::FoldedMatrix& matrix, MatrixLayout layout) {
  const auto [place, is_new] = matrices_.try_emplace({matrix.op, layout});
  if (is_new) place->second = Upload(matrix, layout);
  return place->second;
}

// Counts a matrix once, even if several layouts are on the device.
int64_t DeviceMatrices::SavedBytes() const {
  int64_t saved = 0;
  const program::Operator* counted = nullptr;
  for (const auto& [key, matrix] : matrices_) {
    if (std::exchange(counted, key.first) == key.first) continue;
    const int64_t of_number = matrix.int8 != nullptr ? 3 : matrix.bf16 != nullptr ? 2 : 0;
    saved += of_number * matrix.inputs * matrix.outputs;
  }
  return saved;
}

DeviceMatrix DeviceMatrices::Upload(const engine::FoldedMatrix& matrix, MatrixLayout layout) {
  const LinearWeights weights = matrix.weights();
  const auto copy = [&](std::vector<float> by_output) {
    if (layout == MatrixLayout::kByOutputs) by_output.resize(PaddedOutputs(by_output.size()));
    return buffers_.Copy(by_output);
  };
  DeviceMatrix made = {.precision = matrix.precision,
                       .inputs = static_cast<int>(weights.inputs()),
                       .outputs = static_cast<int>(weights.outputs()),
                       .bias = copy(weights.bias)};
  if (matrix.precision == Precision::kInt8) {
    const Bytes bytes(weights, layout);
    made.int8 = buffers_.Copy(bytes.numbers);
    made.scale = copy(bytes.scale);
    made.sums = copy(bytes.sums);
  } else if (matrix.precision == Precision::kBf16 && layout != MatrixLayout::kFloatsByInputs) {
    made.bf16 = buffers_.Copy(Laid<uint16_t>(
        weights, layout, [](float weight, size_t) { return static_cast<uint16_t>(cpu::ToBf16(weight)); }));
  } else {
    const bool rounds = matrix.precision == Precision::kBf16;
    made.fp32 = buffers_.Copy(Laid<float>(
        weights, layout, [&](float weight, size_t) { return rounds ? cpu::ToFloat(cpu::ToBf16(weight)) : weight; }));
  }
  return made;
}

}  // namespace vitrine::cuda
