// SPDX-License-Identifier: Apache-2.0
// What treats every row by itself.
#include <algorithm>
#include <utility>

#include "engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

// Rows that are normalised into scratch before the product takes them, while they stay in the first caches.
constexpr int64_t kChunkRows = 56;

class Linear : public Step {
 public:
  Linear(const LinearSettings& settings, std::shared_ptr<const PackedMatrix> matrix)
      : settings_(settings), matrix_(std::move(matrix)) {
    reads = {settings.x};
    if (settings.residual) reads.push_back(*settings.residual);
    writes = settings.y;
  }

  int64_t Scratch(const Frame&) const override { return settings_.norm_epsilon ? kChunkRows * matrix_->inputs() : 0; }

  StepCost CostOn(const Frame& frame) const override {
    const int64_t weights = matrix_->inputs() * matrix_->outputs();
    return {
        .kind = StepKind::kLinear, .multiply_adds = frame.At(settings_.x).rows * weights, .outside_floats = weights};
  }

  void Run(const Frame& frame) const override {
    const View<const float> x = frame.At(settings_.x);
    const View<float> y = frame.At(settings_.y);
    View<const float> residual;
    if (settings_.residual) residual = frame.At(*settings_.residual);
    const int64_t chunk = settings_.norm_epsilon ? kChunkRows : x.rows;
    for (int64_t row = 0; row < x.rows; row += chunk) {
      View<const float> a{x.Row(row), std::min(chunk, x.rows - row), x.columns, x.stride};
      if (settings_.norm_epsilon) {
        const View<float> normalized{frame.scratch(), a.rows, a.columns, a.columns};
        frame.kernels().normalize(a, *settings_.norm_epsilon, normalized);
        a = normalized;
      }
      frame.kernels().gemm({.a = a.data,
                            .a_stride = a.stride,
                            .rows = a.rows,
                            .inner = a.columns,
                            .panels = matrix_->panels(),
                            .bias = matrix_->bias(),
                            .columns = matrix_->outputs(),
                            .activation = settings_.activation,
                            .residual = settings_.residual ? residual.Row(row) : nullptr,
                            .residual_stride = residual.stride,
                            .y = y.Row(row),
                            .y_stride = y.stride});
    }
  }

 private:
  const LinearSettings settings_;
  const std::shared_ptr<const PackedMatrix> matrix_;
};

class LayerNorm : public OneToOne {
 public:
  LayerNorm(Operand x, Operand y, double epsilon, std::vector<float> weight, std::vector<float> bias)
      : OneToOne(x, y), epsilon_(static_cast<float>(epsilon)), weight_(std::move(weight)), bias_(std::move(bias)) {}
  void Run(const Frame& frame) const override {
    frame.kernels().layer_norm(frame.At(x_), epsilon_, weight_.data(), bias_.data(), frame.At(y_));
  }

 private:
  const float epsilon_;
  const std::vector<float> weight_, bias_;
};

class Affine : public OneToOne {
 public:
  Affine(Operand x, Operand y, std::vector<float> weight, std::vector<float> bias, Activation activation)
      : OneToOne(x, y), weight_(std::move(weight)), bias_(std::move(bias)), activation_(activation) {}
  void Run(const Frame& frame) const override {
    frame.kernels().affine(frame.At(x_), weight_.data(), bias_.data(), frame.At(y_));
    if (activation_ != Activation::kNone) frame.kernels().activate(frame.At(y_), activation_, frame.At(y_));
  }

 private:
  const std::vector<float> weight_, bias_;
  const Activation activation_;
};

class Activate : public OneToOne {
 public:
  Activate(Operand x, Operand y, Activation activation) : OneToOne(x, y), activation_(activation) {}
  void Run(const Frame& frame) const override { frame.kernels().activate(frame.At(x_), activation_, frame.At(y_)); }

 private:
  const Activation activation_;
};

class Add : public Step {
 public:
  Add(Operand x, Operand z, Operand y) : x_(x), z_(z), y_(y) {
    reads = {x, z};
    writes = y;
  }
  void Run(const Frame& frame) const override { frame.kernels().add(frame.At(x_), frame.At(z_), frame.At(y_)); }

 private:
  const Operand x_, z_, y_;
};

class Concatenate : public Step {
 public:
  Concatenate(std::vector<Operand> x, Operand y) : x_(std::move(x)), y_(y) {
    reads = x_;
    writes = y;
  }
  void Run(const Frame& frame) const override {
    const View<float> y = frame.At(y_);
    int64_t first = 0;
    for (const Operand& part : x_) {
      const View<float> x = frame.At(part);
      for (int64_t row = 0; row < x.rows; ++row) std::copy_n(x.Row(row), x.columns, y.Row(row) + first);
      first += x.columns;
    }
  }

 private:
  const std::vector<Operand> x_;
  const Operand y_;
};

}  // namespace

StepPtr MakeLinear(const LinearSettings& settings, std::shared_ptr<const PackedMatrix> matrix) {
  return std::make_unique<Linear>(settings, std::move(matrix));
}
StepPtr MakeLayerNorm(Operand x, Operand y, double epsilon, std::vector<float> weight, std::vector<float> bias) {
  return std::make_unique<LayerNorm>(x, y, epsilon, std::move(weight), std::move(bias));
}
StepPtr MakeAffine(Operand x, Operand y, std::vector<float> weight, std::vector<float> bias, Activation activation) {
  return std::make_unique<Affine>(x, y, std::move(weight), std::move(bias), activation);
}
StepPtr MakeActivate(Operand x, Operand y, Activation activation) {
  return std::make_unique<Activate>(x, y, activation);
}
StepPtr MakeAdd(Operand x, Operand z, Operand y) {
  return std::make_unique<Add>(x, z, y);
}
StepPtr MakeConcatenate(std::vector<Operand> x, Operand y) {
  return std::make_unique<Concatenate>(std::move(x), y);
}

}  // namespace vitrine::engine
