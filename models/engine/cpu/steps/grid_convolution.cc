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

class Depthwise : public Step {
 public:
  Depthwise(Operand x, Operand y, DepthwiseWeights weights, std::optional<Operand> residual,
            const NarrowKernels* narrow)
      : x_(x),
        y_(y),
        residual_(residual),
        weights_(std::move(weights)),
        zeros_(static_cast<size_t>(x.columns), 0.0f),
        narrow_(narrow) {}
  StepCost CostOn(const Frame& frame) const override {
    return {.kind = StepKind::kConvolution,
            .multiply_adds = kTaps * frame.rows(RowsOf::kCells) * x_.columns,
            .outside_floats = static_cast<int64_t>(weights_.weights.size())};
  }
  void Run(const Frame& frame) const override {
    const auto depthwise = narrow_ == nullptr ? frame.kernels().depthwise : narrow_->depthwise;
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> x = frame.CellsOf(x_, image), y = frame.CellsOf(y_, image);
      const Grid grid = frame.grid(image);
      const Segment rows = frame.Share(grid.rows);
      View<const float> residual;
      if (residual_) residual = frame.CellsOf(*residual_, image);
      depthwise({.x = x.data,
                 .x_stride = x.stride,
                 .rows = grid.rows,
                 .columns = grid.columns,
                 .channels = x.columns,
                 .weights = weights_.weights.data(),
                 .bias = weights_.bias.data(),
                 .zeros = zeros_.data(),
                 .scale = weights_.scale.empty() ? nullptr : weights_.scale.data(),
                 .shift = weights_.shift.empty() ? nullptr : weights_.shift.data(),
                 .y = y.data,
                 .y_stride = y.stride,
                 .residual = residual.data,
                 .residual_stride = residual.stride,
                 .first_row = rows.first,
                 .wanted_rows = rows.count});
      HandOnClass(frame, x_, y_, image);
    }
  }

 private:
  const Operand x_, y_;
  const std::optional<Operand> residual_;
  const DepthwiseWeights weights_;
  const std::vector<float> zeros_;
  const NarrowKernels* const narrow_;
};

class DenseConvolution : public Step {
 public:
  DenseConvolution(Operand x, Operand y, std::shared_ptr<const LinearMatrix> matrix, Activation activation)
      : x_(x), y_(y), layer_(std::move(matrix), std::nullopt, activation) {}

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
      const View<float> x = frame.CellsOf(x_, image), y = frame.CellsOf(y_, image);
      const Segment share = frame.Share(x.rows);
      const int64_t end = share.first + share.count;
      for (int64_t first = share.first; first < end; first += kChunkRows) {
        const int64_t count = std::min(kChunkRows, end - first);
        float* out = frame.scratch();
        for (int64_t cell = first; cell < first + count; ++cell) out = Gather(x, frame.grid(image), cell, out);
        const LeftSide left = layer_.Take(frame.kernels(), {frame.scratch(), count, width, width}, scratch);
        layer_.Multiply(frame.kernels(), left, count, {}, {.wide = y.Row(first), .stride = y.stride});
      }
      HandOnClass(frame, x_, y_, image);
    }
  }

 private:
  // Returns the scratch size for the neighbourhoods of a chunk of cells.
  int64_t GatheredFloats() const { return kChunkRows * kTaps * x_.columns; }

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

  const Operand x_, y_;
  const Layer layer_;
};

}  // namespace

StepPtr MakeDepthwise(Operand x, Operand y, DepthwiseWeights weights, std::optional<Operand> residual,
                      const NarrowKernels* narrow) {
  return std::make_unique<Depthwise>(x, y, std::move(weights), residual, narrow);
}
StepPtr MakeDenseConvolution(Operand x, Operand y, std::shared_ptr<const LinearMatrix> matrix, Activation activation) {
  return std::make_unique<DenseConvolution>(x, y, std::move(matrix), activation);
}

}  // namespace vitrine::engine
