// SPDX-License-Identifier: Apache-2.0
// Steps of a single linear layer, and of two layers where only the second reads the result of the first.
#include <algorithm>
#include <utility>

#include "models/engine/cpu/steps/layer.h"
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

View<const float> Chunk(View<const float> x, int64_t first, int64_t rows) {
  return {x.Row(first), rows, x.columns, x.stride};
}

Layer LayerOf(const LinearStep& step, MatrixPtr matrix) {
  return {std::move(matrix), step.norm_epsilon, step.activation};
}

View<const float> ResidualOf(const Frame& frame, const LinearStep& step) {
  return step.residual ? View<const float>(frame.At(*step.residual)) : View<const float>();
}

class Linear : public StepOf<LinearStep> {
 public:
  Linear(const LinearStep& step, MatrixPtr matrix) : StepOf(step), layer_(LayerOf(step, std::move(matrix))) {}

  int64_t Scratch(const Frame&) const override { return layer_.Scratch(); }

  StepCost CostOn(const Frame& frame) const override {
    const LinearMatrix& matrix = layer_.matrix();
    return {.kind = StepKind::kLinear,
            .precision = matrix.precision(),
            .multiply_adds = frame.At(step_.x).rows * matrix.weights(),
            .outside_floats = matrix.weight_floats()};
  }

  void Run(const Frame& frame) const override {
    const View<const float> x = frame.At(step_.x);
    const View<const float> residual = ResidualOf(frame, step_);
    const View<float> y = frame.At(step_.y);
    const Segment share = frame.Share(x.rows);
    const int64_t end = share.first + share.count;
    const int64_t chunk = layer_.Scratch() > 0 ? kChunkRows : share.count;
    for (int64_t row = share.first; row < end; row += chunk) {
      const int64_t rows = std::min(chunk, end - row);
      const LeftSide left = layer_.Take(frame.kernels(), Chunk(x, row, rows), frame.scratch());
      layer_.Multiply(frame.kernels(), left, rows, residual.data == nullptr ? residual : Chunk(residual, row, rows),
                      {.wide = y.Row(row), .stride = y.stride});
    }
  }

 private:
  const Layer layer_;
};

class Perceptron : public StepOf<PerceptronStep> {
 public:
  Perceptron(const PerceptronStep& step, MatrixPtr first, MatrixPtr second)
      : StepOf(step), first_(LayerOf(step.first, std::move(first))), second_(LayerOf(step.second, std::move(second))) {}

  int64_t Scratch(const Frame&) const override { return HiddenFloats() + first_.Scratch() + second_.Scratch(); }

  // Returns the cost of both products, with the wider of their precisions.
  StepCost CostOn(const Frame& frame) const override {
    const LinearMatrix &first = first_.matrix(), &second = second_.matrix();
    return {.kind = StepKind::kLinear,
            .precision = std::min(first.precision(), second.precision()),
            .multiply_adds = frame.At(step_.first.x).rows * (first.weights() + second.weights()),
            .outside_floats = first.weight_floats() + second.weight_floats()};
  }

  void Run(const Frame& frame) const override {
    const Kernels& kernels = frame.kernels();
    const View<const float> x = frame.At(step_.first.x);
    const View<const float> residual = ResidualOf(frame, step_.second);
    const View<float> y = frame.At(step_.second.y);
    const int64_t hidden = first_.matrix().outputs(), stride = FloatStride(hidden);
    float* const first_scratch = frame.scratch() + HiddenFloats();
    float* const second_scratch = first_scratch + first_.Scratch();
    const Segment share = frame.Share(x.rows);
    const int64_t end = share.first + share.count;
    for (int64_t row = share.first; row < end; row += kChunkRows) {
      const int64_t rows = std::min(kChunkRows, end - row);
      const LeftSide left = first_.Take(kernels, Chunk(x, row, rows), first_scratch);
      LeftSide between;
      if (HandsOnBf16()) {
        auto* const narrow = reinterpret_cast<cpu::Bf16*>(frame.scratch());
        const int64_t bytes = RowStride(hidden * int64_t{sizeof(cpu::Bf16)});
        first_.Multiply(kernels, left, rows, {}, {.narrow = narrow, .stride = bytes / int64_t{sizeof(cpu::Bf16)}});
        between = {.wide = {}, .groups = reinterpret_cast<const std::byte*>(narrow), .stride = bytes};
      } else {
        first_.Multiply(kernels, left, rows, {}, {.wide = frame.scratch(), .stride = stride});
        between = second_.Take(kernels, {frame.scratch(), rows, hidden, stride}, second_scratch);
      }
      second_.Multiply(kernels, between, rows, residual.data == nullptr ? residual : Chunk(residual, row, rows),
                       {.wide = y.Row(row), .stride = y.stride});
    }
  }

 private:
  // Returns true if the intermediate result is written as bf16. This requires an even number of columns: the second
  // product reads bf16 in groups of two (see narrow_kernels.h), and the first product does not pad the last group of a
  // row.
  bool HandsOnBf16() const {
    return second_.takes_bf16() && first_.matrix().narrow() != nullptr && first_.matrix().outputs() % 2 == 0;
  }
  int64_t HiddenFloats() const { return kChunkRows * FloatStride(first_.matrix().outputs()); }

  const Layer first_, second_;
};

}  // namespace

StepPtr MakeLinear(const LinearStep& step, MatrixPtr matrix) {
  return std::make_unique<Linear>(step, std::move(matrix));
}
StepPtr MakePerceptron(const PerceptronStep& step, MatrixPtr first, MatrixPtr second) {
  return std::make_unique<Perceptron>(step, std::move(first), std::move(second));
}

}  // namespace vitrine::engine
