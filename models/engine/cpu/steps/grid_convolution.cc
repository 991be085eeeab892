// SPDX-License-Identifier: Apache-2.0
// 3x3 convolutions over the grid of each image. Class tokens are copied.
#include <algorithm>
#include <utility>

#include "models/engine/cpu/steps/layer.h"
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

constexpr int kTaps = 9;

void HandOnClass(const Frame& frame, Operand x, Operand y, int image) {
  if (!frame.Leads()) return;
  const View<float> from = frame.PrefixOf(x, image), to = frame.PrefixOf(y, image);
  for (int64_t row = 0; row < from.rows; ++row) std::copy_n(from.Row(row), from.columns, to.Row(row));
}

class Depthwise : public StepOf<DepthwiseStep> {
 public:
  Depthwise(const DepthwiseStep& step, const NarrowKernels* narrow)
      : StepOf(step), zeros_(static_cast<size_t>(step.x.columns), 0.0f), narrow_(narrow) {}
  StepCost CostOn(const Frame& frame) const override {
    return {.kind = StepKind::kConvolution,
            .multiply_adds = kTaps * frame.rows(RowsOf::kCells) * step_.x.columns,
            .outside_floats = static_cast<int64_t>(step_.weights.size())};
  }
  void Run(const Frame& frame) const override {
    const auto depthwise = narrow_ == nullptr ? frame.kernels().depthwise : narrow_->depthwise;
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> x = frame.CellsOf(step_.x, image), y = frame.CellsOf(step_.y, image);
      const Grid grid = frame.grid(image);
      const Segment rows = frame.Share(grid.rows);
      View<const float> residual;
      if (step_.residual) residual = frame.CellsOf(*step_.residual, image);
      depthwise({.x = x.data,
                 .x_stride = x.stride,
                 .rows = grid.rows,
                 .columns = grid.columns,
                 .channels = x.columns,
                 .weights = step_.weights.data(),
                 .bias = step_.bias.data(),
                 .zeros = zeros_.data(),
                 .scale = step_.scale.empty() ? nullptr : step_.scale.data(),
                 .shift = step_.shift.empty() ? nullptr : step_.shift.data(),
                 .y = y.data,
                 .y_stride = y.stride,
                 .residual = residual.data,
                 .residual_stride = residual.stride,
                 .first_row = rows.first,
                 .wanted_rows = rows.count});
      HandOnClass(frame, step_.x, step_.y, image);
    }
  }

 private:
  const std::vector<float> zeros_;
  const NarrowKernels* const narrow_;
};

class DenseConvolution : public StepOf<DenseConvolutionStep> {
 public:
  DenseConvolution(const DenseConvolutionStep& step, MatrixPtr matrix)
      : StepOf(step), layer_(std::move(matrix), std::nullopt, step.activation) {}

  int64_t Scratch(const Frame&) const override { return GatheredFloats() + layer_.Scratch(); }
  StepCost CostOn(const Frame& frame) const override {
    const LinearMatrix& matrix = layer_.matrix();
    return {.kind = StepKind::kConvolution,
            .precision = matrix.precision(),
            .multiply_adds = frame.rows(RowsOf::kCells) * matrix.weights(),
            .outside_floats = matrix.weight_floats()};
  }

  void Run(const Frame& frame) const override {
    const int64_t width = layer_.matrix().inputs();
    float* const scratch = frame.scratch() + GatheredFloats();
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> x = frame.CellsOf(step_.x, image), y = frame.CellsOf(step_.y, image);
      const Segment share = frame.Share(x.rows);
      const int64_t end = share.first + share.count;
      for (int64_t first = share.first; first < end; first += kChunkRows) {
        const int64_t count = std::min(kChunkRows, end - first);
        float* out = frame.scratch();
        for (int64_t cell = first; cell < first + count; ++cell) out = Gather(x, frame.grid(image), cell, out);
        const LeftSide left = layer_.Take(frame.kernels(), {frame.scratch(), count, width, width}, scratch);
        layer_.Multiply(frame.kernels(), left, count, {}, {.wide = y.Row(first), .stride = y.stride});
      }
      HandOnClass(frame, step_.x, step_.y, image);
    }
  }

 private:
  // Returns the scratch size for the neighbourhoods of a chunk of cells.
  int64_t GatheredFloats() const { return kChunkRows * kTaps * step_.x.columns; }

  static float* Gather(View<const float> x, Grid grid, int64_t cell, float* out) {
    const int64_t row = cell / grid.columns, column = cell % grid.columns;
    for (int k = 0; k < kTaps; ++k, out += x.columns) {
      const int64_t r = row + k / 3 - 1, c = column + k % 3 - 1;
      if (r < 0 || r >= grid.rows || c < 0 || c >= grid.columns) {
        std::fill_n(out, x.columns, 0.0f);
      } else {
        std::copy_n(x.Row(r * grid.columns + c), x.columns, out);
      }
    }
    return out;
  }

  const Layer layer_;
};

}  // namespace

StepPtr MakeDepthwise(const DepthwiseStep& step, const NarrowKernels* narrow) {
  return std::make_unique<Depthwise>(step, narrow);
}
StepPtr MakeDenseConvolution(const DenseConvolutionStep& step, MatrixPtr matrix) {
  return std::make_unique<DenseConvolution>(step, std::move(matrix));
}

}  // namespace vitrine::engine
