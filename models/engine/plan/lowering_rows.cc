// SPDX-License-Identifier: Apache-2.0
// Lowers the operators that compute each row separately.
#include <algorithm>
#include <utility>

#include "models/engine/plan/lowering.h"

namespace vitrine::engine {

using program::Operator;
using program::Value;

namespace {

Activation ActivationOf(const Operator& activate) {
  switch (activate.As<program::Activate>()->function) {
    case program::Activate::Function::kGelu:
      return Activation::kGelu;
    case program::Activate::Function::kQuickGelu:
      return Activation::kQuickGelu;
    case program::Activate::Function::kRelu:
      return Activation::kRelu;
  }
  return Activation::kNone;
}

}  // namespace

Lowering::Tail Lowering::Follow(const Operator& op, std::vector<ColumnFold>& folds) {
  Tail tail = {.last = &op};
  const auto take = [&](const Operator* next) {
    if (next == nullptr) return false;
    done_.insert(next);
    tail.last = next;
    return true;
  };
  while (true) {
    if (take(readers_.After<program::Drop>(tail.last))) continue;
    if (tail.activation != Activation::kNone) return tail;
    if (take(readers_.After<program::BatchNorm>(tail.last))) {
      folds.push_back({.affine = weights_.OfBatchNorm(*tail.last)});
    } else if (take(readers_.After<program::Affine>(tail.last))) {
      folds.push_back({.affine = {weights_.Copy(*tail.last, 0), weights_.Copy(*tail.last, 1)}});
    } else if (take(readers_.After<program::Activate>(tail.last))) {
      tail.activation = ActivationOf(*tail.last);
    } else {
      return tail;
    }
  }
}

const Operator* Lowering::ResidualAfter(const Tail& tail) const {
  const Operator* residual = readers_.After<program::Residual>(tail.last);
  if (residual == nullptr || residual->inputs[1] != tail.last->output || !IsThere(residual->inputs[0])) return nullptr;
  return residual->weights.empty() || tail.activation == Activation::kNone ? residual : nullptr;
}

void Lowering::Do(const Operator& op, const program::LayerNorm& norm) {
  const Operator* reader = readers_.After<program::Linear>(&op);
  if (reader != nullptr && reader->inputs.size() == 1 && reader->As<program::Linear>()->code < 0) {
    norms_[op.output.id] = &op;
    return;
  }
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, LayerNormStep{x, Write(op.output), norm.epsilon, weights_.Copy(op, 0), weights_.Copy(op, 1)});
}

void Lowering::Do(const Operator& op, const program::BatchNorm&) {
  if (program_.info(op.output).kind == program::ValueKind::kMap) {
    Refuse(op, "of a map does not directly follow a convolution");
    return;
  }
  const Operand x = Read(op.inputs[0], op.output);
  ColumnAffine affine = weights_.OfBatchNorm(op);
  Add(op, AffineStep{x, Write(op.output), std::move(affine.scale), std::move(affine.shift)});
}

void Lowering::Do(const Operator& op, const program::Affine&) {
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, AffineStep{x, Write(op.output), weights_.Copy(op, 0), weights_.Copy(op, 1)});
}

Lowering::Folded Lowering::FoldLinear(const Operator& op, const program::Linear& linear) {
  Folded folded;
  std::vector<ColumnFold> folds;
  if (const auto norm = norms_.find(op.inputs[0].id); norm != norms_.end()) {
    const Operator& before = *norm->second;
    folded.step.norm_epsilon = static_cast<float>(before.As<program::LayerNorm>()->epsilon);
    folds.push_back({.before = true, .affine = {weights_.Copy(before, 0), weights_.Copy(before, 1)}});
  }
  const Tail tail = Follow(op, folds);
  folded.step.activation = tail.activation;
  folded.last = tail.last;
  if (const Operator* const residual = ResidualAfter(tail)) {
    if (!residual->weights.empty()) {
      const std::vector<float> zeros(static_cast<size_t>(linear.outputs), 0.0f);
      folds.push_back({.affine = {weights_.Copy(*residual, 0), zeros}});
    }
    folded.step.residual = Read(residual->inputs[0], residual->output);
    folded.last = residual;
    done_.insert(residual);
  }
  const int64_t inputs = program_.weights()[static_cast<size_t>(op.weights[0])].shape[1];
  folded.step.matrix = MatrixOf(
      op, inputs, linear.outputs, PrecisionOf(op), [weights = weights_, &op] { return weights.OfLinear(op); },
      std::move(folds));
  return folded;
}

const Operator* Lowering::LinearAfter(const Folded& folded) const {
  const Operator* next = folded.step.residual ? nullptr : readers_.After<program::Linear>(folded.last);
  return next != nullptr && next->inputs.size() == 1 && next->As<program::Linear>()->code < 0 ? next : nullptr;
}

void Lowering::Do(const Operator& op, const program::Linear& linear) {
  if (linear.code >= 0) {
    DoCoded(op, linear);
    return;
  }
  Folded first = FoldLinear(op, linear);
  const auto norm = norms_.find(op.inputs[0].id);
  first.step.x = norm == norms_.end() ? Joined(op) : Read(norm->second->inputs[0], op.output);
  const Operator* const next = LinearAfter(first);
  if (next == nullptr) {
    first.step.y = Write(first.last->output);
    Add(op, std::move(first.step));
    return;
  }
  Folded second = FoldLinear(*next, *next->As<program::Linear>());
  done_.insert(next);
  second.step.y = Write(second.last->output);
  Add(op, PerceptronStep{std::move(first.step), std::move(second.step)});
}

void Lowering::DoCoded(const Operator& op, const program::Linear& linear) {
  const std::span<const float> codes = weights_.Of(op, 2);
  const size_t length = static_cast<size_t>(program_.weights()[static_cast<size_t>(op.weights[2])].shape[1]);
  const LinearWeights whole = weights_.OfLinear(op);
  const size_t all = static_cast<size_t>(whole.inputs()), inputs = all - length;
  AffineStep affine = {.scale = std::vector<float>(whole.bias.size(), 1.0f)};
  for (size_t output = 0; output < whole.bias.size(); ++output) {
    const float* const row = whole.weight.data() + output * all;
    double sum = whole.bias[output];
    for (size_t i = 0; i < length; ++i) {
      sum += double{row[inputs + i]} * codes[static_cast<size_t>(linear.code) * length + i];
    }
    affine.shift.push_back(static_cast<float>(sum));
  }
  const auto [product, is_new] = products_.try_emplace({op.inputs[0].id, op.weights[0]}, 0);
  if (is_new) {
    const Operand x = Read(op.inputs[0], op.output);
    product->second = plan_.steps.size();
    Add(op, LinearStep{.x = x,
                       .y = NewBuffer(RowsOfBuffer(x), whole.outputs()),
                       .matrix = MatrixOf(op, static_cast<int64_t>(inputs), whole.outputs(), PrecisionOf(op),
                                          [weights = weights_, &op] { return weights.OfLinearWithoutCode(op); })});
  } else {
    std::get<LinearStep>(plan_.steps[product->second].settings).matrix.names.push_back(op.name);
  }
  affine.x = plan_.steps[product->second].writes;
  std::vector<ColumnFold> folds;
  const Tail tail = Follow(op, folds);
  for (const ColumnFold& fold : folds) {
    for (size_t i = 0; i < affine.shift.size(); ++i) {
      affine.scale[i] *= fold.affine.scale[i];
      affine.shift[i] = affine.shift[i] * fold.affine.scale[i] + fold.affine.shift[i];
    }
  }
  affine.y = Write(tail.last->output);
  affine.activation = tail.activation;
  Add(op, std::move(affine));
}

void Lowering::Do(const Operator& op, const program::Activate&) {
  if (program_.info(op.output).kind == program::ValueKind::kMap) {
    std::vector<StemConvolution> layers = maps_[op.inputs[0].id];
    if (layers.empty() || layers.back().convolve.pool > 0) {
      Refuse(op, "does not follow a convolution without a pool");
      return;
    }
    layers.back().activation = ActivationOf(op);
    maps_[op.output.id] = std::move(layers);
    return;
  }
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, ActivateStep{x, Write(op.output), ActivationOf(op)});
}

void Lowering::Do(const Operator& op, const program::UnitLength&) {
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, UnitLengthStep{x, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::Residual&) {
  const Operand x = Read(op.inputs[0], op.output);
  Operand branch = Read(op.inputs[1], op.output);
  if (!op.weights.empty()) {
    const Operand scaled = NewBuffer(RowsOfBuffer(branch), branch.columns);
    std::vector<float> zeros(static_cast<size_t>(branch.columns), 0.0f);
    Add(op, AffineStep{branch, scaled, weights_.Copy(op, 0), std::move(zeros)});
    branch = scaled;
  }
  Add(op, AddStep{x, branch, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::Columns& columns) {
  const Operand x = Read(op.inputs[0], op.output);
  Put(op.output, {x.buffer, x.first + columns.first, columns.count});
}

void Lowering::Do(const Operator& op, const program::Concatenate&) {
  Put(op.output, Joined(op));
}

void Lowering::Do(const Operator& op, const program::Add& add) {
  const Operand x = Read(op.inputs[0], op.output), z = Read(op.inputs[1], op.output);
  const Operand sum = Write(op.output);
  Add(op, AddStep{x, z, sum});
  if (add.scale == 1) return;
  const auto columns = static_cast<size_t>(sum.columns);
  Add(op, AffineStep{sum, Write(op.output), std::vector<float>(columns, static_cast<float>(add.scale)),
                     std::vector<float>(columns, 0.0f)});
}

}  // namespace vitrine::engine
