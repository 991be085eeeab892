// SPDX-License-Identifier: Apache-2.0
// Steps that compute each row separately.
#include <algorithm>
#include <utility>

#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

class LayerNorm : public OneToOne {
 public:
  LayerNorm(Operand x, Operand y, double epsilon, std::vector<float> weight, std::vector<float> bias)
      : OneToOne(x, y), epsilon_(static_cast<float>(epsilon)), weight_(std::move(weight)), bias_(std::move(bias)) {}
  void Run(const Frame& frame) const override {
    frame.kernels().layer_norm(frame.ShareOf(frame.At(x_)), epsilon_, weight_.data(), bias_.data(),
                               frame.ShareOf(frame.At(y_)));
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
    const View<float> y = frame.ShareOf(frame.At(y_));
    frame.kernels().affine(frame.ShareOf(frame.At(x_)), weight_.data(), bias_.data(), y);
    if (activation_ != Activation::kNone) frame.kernels().activate(y, activation_, y);
  }

 private:
  const std::vector<float> weight_, bias_;
  const Activation activation_;
};

class Activate : public OneToOne {
 public:
  Activate(Operand x, Operand y, Activation activation) : OneToOne(x, y), activation_(activation) {}
  void Run(const Frame& frame) const override {
    frame.kernels().activate(frame.ShareOf(frame.At(x_)), activation_, frame.ShareOf(frame.At(y_)));
  }

 private:
  const Activation activation_;
};

class UnitLength : public OneToOne {
 public:
  using OneToOne::OneToOne;
  void Run(const Frame& frame) const override {
    frame.kernels().scale_to_length(frame.ShareOf(frame.At(x_)), 1, program::kUnitLengthEpsilon,
                                    frame.ShareOf(frame.At(y_)));
  }
};

class Add : public Step {
 public:
  Add(Operand x, Operand z, Operand y) : x_(x), z_(z), y_(y) {}
  void Run(const Frame& frame) const override {
    frame.kernels().add(frame.ShareOf(frame.At(x_)), frame.ShareOf(frame.At(z_)), frame.ShareOf(frame.At(y_)));
  }

 private:
  const Operand x_, z_, y_;
};

class Concatenate : public Step {
 public:
  Concatenate(std::vector<Operand> x, Operand y) : x_(std::move(x)), y_(y) {}
  void Run(const Frame& frame) const override {
    const View<float> y = frame.ShareOf(frame.At(y_));
    int64_t first = 0;
    for (const Operand& part : x_) {
      const View<float> x = frame.ShareOf(frame.At(part));
      for (int64_t row = 0; row < x.rows; ++row) std::copy_n(x.Row(row), x.columns, y.Row(row) + first);
      first += x.columns;
    }
  }

 private:
  const std::vector<Operand> x_;
  const Operand y_;
};

}  // namespace

StepPtr MakeLayerNorm(Operand x, Operand y, double epsilon, std::vector<float> weight, std::vector<float> bias) {
  return std::make_unique<LayerNorm>(x, y, epsilon, std::move(weight), std::move(bias));
}
StepPtr MakeAffine(Operand x, Operand y, std::vector<float> weight, std::vector<float> bias, Activation activation) {
  return std::make_unique<Affine>(x, y, std::move(weight), std::move(bias), activation);
}
StepPtr MakeActivate(Operand x, Operand y, Activation activation) {
  return std::make_unique<Activate>(x, y, activation);
}
StepPtr MakeUnitLength(Operand x, Operand y) {
  return std::make_unique<UnitLength>(x, y);
}
StepPtr MakeAdd(Operand x, Operand z, Operand y) {
  return std::make_unique<Add>(x, z, y);
}
StepPtr MakeConcatenate(std::vector<Operand> x, Operand y) {
  return std::make_unique<Concatenate>(std::move(x), y);
}

}  // namespace vitrine::engine
