// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/operator_weights.h"

#include <algorithm>
#include <cstdint>

namespace vitrine::engine {

using program::Operator;

std::span<const float> OperatorWeights::Of(const Operator& op, size_t i) const {
  const size_t weight = static_cast<size_t>(op.weights[i]);
  return {source_->Floats(weight), static_cast<size_t>(program_->weights()[weight].elements())};
}

std::vector<float> OperatorWeights::Copy(const Operator& op, size_t i) const {
  const std::span<const float> weight = Of(op, i);
  return {weight.begin(), weight.end()};
}

ColumnAffine OperatorWeights::OfBatchNorm(const Operator& op) const {
  return AffineOfBatchNorm(Of(op, 0), Of(op, 1), Of(op, 2), Of(op, 3), op.As<program::BatchNorm>()->epsilon);
}

LinearWeights OperatorWeights::OfLinear(const Operator& op) const {
  const program::Linear& linear = *op.As<program::Linear>();
  const auto& shape = program_->weights()[static_cast<size_t>(op.weights[0])].shape;
  const std::span<const float> rows = Of(op, 0).subspan(static_cast<size_t>(linear.first_row * shape[1]),
                                                        static_cast<size_t>(linear.outputs * shape[1]));
  LinearWeights weights;
  weights.weight.assign(rows.begin(), rows.end());
  weights.bias.assign(static_cast<size_t>(linear.outputs), 0.0f);
  if (linear.bias) {
    const auto bias = Of(op, 1).subspan(static_cast<size_t>(linear.first_row), weights.bias.size());
    std::copy(bias.begin(), bias.end(), weights.bias.begin());
  }
  return weights;
}

LinearWeights OperatorWeights::OfLinearWithoutCode(const Operator& op) const {
  const int64_t length = program_->weights()[static_cast<size_t>(op.weights[2])].shape[1];
  const LinearWeights whole = OfLinear(op);
  LinearWeights weights;
  weights.bias.assign(whole.bias.size(), 0.0f);
  for (int64_t output = 0; output < whole.outputs(); ++output) {
    const float* const row = whole.weight.data() + output * whole.inputs();
    weights.weight.insert(weights.weight.end(), row, row + whole.inputs() - length);
  }
  return weights;
}

LinearWeights OperatorWeights::OfConvolution(const Operator& op) const {
  const program::Convolve& convolve = *op.As<program::Convolve>();
  const std::span<const float> kernel = Of(op, 0);
  const int64_t outputs = program_->weights()[static_cast<size_t>(op.weights[0])].shape[0];
  const int64_t taps = int64_t{convolve.kernel} * convolve.kernel;
  const int64_t inputs = static_cast<int64_t>(kernel.size()) / outputs / taps;
  LinearWeights weights;
  weights.weight.assign(kernel.begin(), kernel.end());
  if (!convolve.channels_last) {  // converts [outputs, inputs, taps] to [outputs, taps, inputs]
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t i = 0; i < inputs; ++i) {
        for (int64_t t = 0; t < taps; ++t) {
          weights.weight[static_cast<size_t>((o * taps + t) * inputs + i)] =
              kernel[static_cast<size_t>((o * inputs + i) * taps + t)];
        }
      }
    }
  }
  weights.bias.assign(static_cast<size_t>(outputs), 0.0f);
  if (op.weights.size() > 1) weights.bias = Copy(op, 1);
  return weights;
}

LinearWeights OperatorWeights::OfGridConvolution(const Operator& op) const {
  LinearWeights weights;
  weights.weight = Copy(op, 0);
  weights.bias.assign(static_cast<size_t>(program_->info(op.output).columns), 0.0f);
  return weights;
}

}  // namespace vitrine::engine
