// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/matrices.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/simd/bf16.h"

namespace vitrine::cuda {
namespace {

using engine::LinearWeights;

// Returns convert(weight) for every weight, [inputs, outputs].
template <class Number, class Convert>
std::vector<Number> Transposed(const LinearWeights& weights, Convert convert) {
  const size_t outputs = weights.bias.size(), inputs = weights.weight.size() / outputs;
  std::vector<Number> numbers(weights.weight.size());
  for (size_t output = 0; output < outputs; ++output) {
    for (size_t input = 0; input < inputs; ++input) {
      numbers[input * outputs + output] = convert(weights.weight[output * inputs + input], output);
    }
  }
  return numbers;
}

// Weights as -127 to 127 times the scale of their output: the numbers of engine::NarrowMatrix.
struct Bytes {
  explicit Bytes(const LinearWeights& weights) {
    constexpr float kLargest = 127;
    const size_t outputs = weights.bias.size(), inputs = weights.weight.size() / outputs;
    for (size_t output = 0; output < outputs; ++output) {
      float largest = 0;
      for (size_t i = 0; i < inputs; ++i) largest = std::max(largest, std::abs(weights.weight[output * inputs + i]));
      scale.push_back(largest / kLargest);
    }
    std::vector<int64_t> totals(outputs);
    numbers = Transposed<int8_t>(weights, [&](float weight, size_t output) {
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

const DeviceMatrix& DeviceMatrices::Find(const engine::FoldedMatrix& matrix, bool as_floats) {
  const auto found = matrices_.find(matrix.op);
  if (found != matrices_.end()) return found->second;
  return matrices_[matrix.op] = Upload(matrix, as_floats);
}

DeviceMatrix DeviceMatrices::Upload(const engine::FoldedMatrix& matrix, bool as_floats) {
  const LinearWeights weights = matrix.weights();
  DeviceMatrix made = {.precision = matrix.precision,
                       .inputs = static_cast<int>(weights.inputs()),
                       .outputs = static_cast<int>(weights.outputs()),
                       .bias = buffers_.Copy(weights.bias)};
  if (matrix.precision == Precision::kInt8) {
    const Bytes bytes(weights);
    made.int8 = buffers_.Copy(bytes.numbers);
    made.scale = buffers_.Copy(bytes.scale);
    made.sums = buffers_.Copy(bytes.sums);
  } else if (matrix.precision == Precision::kBf16 && !as_floats) {
    made.bf16 = buffers_.Copy(
        Transposed<uint16_t>(weights, [](float weight, size_t) { return static_cast<uint16_t>(cpu::ToBf16(weight)); }));
  } else {
    const bool rounds = matrix.precision == Precision::kBf16;
    made.fp32 = buffers_.Copy(Transposed<float>(
        weights, [&](float weight, size_t) { return rounds ? cpu::ToFloat(cpu::ToBf16(weight)) : weight; }));
  }
  return made;
}

}  // namespace vitrine::cuda
