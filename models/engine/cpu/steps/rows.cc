// SPDX-License-Identifier: Apache-2.0
// Steps that compute each row separately.
#include <algorithm>

#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {

void Compute(const LayerNormStep& step, const Frame& frame) {
  frame.kernels().layer_norm(frame.ShareOf(frame.At(step.x)), static_cast<float>(step.epsilon), step.weight.data(),
                             step.bias.data(), frame.ShareOf(frame.At(step.y)));
}

void Compute(const AffineStep& step, const Frame& frame) {
  const View<float> y = frame.ShareOf(frame.At(step.y));
  frame.kernels().affine(frame.ShareOf(frame.At(step.x)), step.scale.data(), step.shift.data(), y);
  if (step.activation != Activation::kNone) frame.kernels().activate(y, step.activation, y);
}

void Compute(const ActivateStep& step, const Frame& frame) {
  frame.kernels().activate(frame.ShareOf(frame.At(step.x)), step.activation, frame.ShareOf(frame.At(step.y)));
}

void Compute(const UnitLengthStep& step, const Frame& frame) {
  frame.kernels().scale_to_length(frame.ShareOf(frame.At(step.x)), 1, program::kUnitLengthEpsilon,
                                  frame.ShareOf(frame.At(step.y)));
}

void Compute(const AddStep& step, const Frame& frame) {
  frame.kernels().add(frame.ShareOf(frame.At(step.x)), frame.ShareOf(frame.At(step.z)),
                      frame.ShareOf(frame.At(step.y)));
}

void Compute(const ConcatenateStep& step, const Frame& frame) {
  const View<float> y = frame.ShareOf(frame.At(step.y));
  int64_t first = 0;
  for (const Operand& part : step.x) {
    const View<float> x = frame.ShareOf(frame.At(part));
    for (int64_t row = 0; row < x.rows; ++row) std::copy_n(x.Row(row), x.columns, y.Row(row) + first);
    first += x.columns;
  }
}

}  // namespace vitrine::engine
