// SPDX-License-Identifier: Apache-2.0
// Operators that treat each row by itself.
#include <algorithm>
#include <utility>

#include "models/engine/cpu/compiler.h"

namespace vitrine::engine {

using program::Operator;
using program::Value;

namespace {

Activation ActivationOf(const Operator& activate) {
  return activate.As<program::Activate>()->function == program::Activate::Function::kGelu ? Activation::kGelu
                                                                                          : Activation::kRelu;
}

}  // namespace

Compiler::Tail Compiler::Follow(const Operator& op, Fold fold) {
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
      const ColumnAffine affine = AffineOf(*tail.last);
      fold(affine.scale, affine.shift);
    } else if (take(readers_.After<program::Affine>(tail.last))) {
      fold(Weight(*tail.last, 0), Weight(*tail.last, 1));
    } else if (take(readers_.After<program::Activate>(tail.last))) {
      tail.activation = ActivationOf(*tail.last);
    } else {
      return tail;
    }
  }
}

const Operator* Compiler::ResidualAfter(const Tail& tail) const {
  const Operator* residual = readers_.After<program::Residual>(tail.last);
  if (residual == nullptr || residual->inputs[1] != tail.last->output || !IsThere(residual->inputs[0])) return nullptr;
  return residual->weights.empty() || tail.activation == Activation::kNone ? residual : nullptr;
}

void Compiler::Do(const Operator& op, const program::LayerNorm& norm) {
  const Operator* reader = readers_.After<program::Linear>(&op);
  if (reader != nullptr && reader->inputs.size() == 1 && reader->As<program::Linear>()->code < 0) {
    norms_[op.output.id] = &op;
    return;
  }
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, MakeLayerNorm(x, Write(op.output), norm.epsilon, Copy(op, 0), Copy(op, 1)));
}

void Compiler::Do(const Operator& op, const program::BatchNorm&) {
  if (program_.info(op.output).kind == program::ValueKind::kMap) {
    Refuse(op, "of a map does not follow a convolution alone");
    return;
  }
  const Operand x = Read(op.inputs[0], op.output);
  ColumnAffine affine = AffineOf(op);
  Add(op, MakeAffine(x, Write(op.output), std::move(affine.scale), std::move(affine.shift), Activation::kNone));
}

void Compiler::Do(const Operator& op, const program::Affine&) {
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, MakeAffine(x, Write(op.output), Copy(op, 0), Copy(op, 1), Activation::kNone));
}

LinearWeights Compiler::WeightsOf(const Operator& op, const program::Linear& linear) const {
  // Packed weights are not read again and may have been released.
  if (linear.code < 0 && matrices_.Find(op) != nullptr) {
    return {.weight = {}, .bias = std::vector<float>(static_cast<size_t>(linear.outputs))};
  }
  const auto& shape = program_.weights()[static_cast<size_t>(op.weights[0])].shape;
  const std::span<const float> rows = Weight(op, 0).subspan(static_cast<size_t>(linear.first_row * shape[1]),
                                                            static_cast<size_t>(linear.outputs * shape[1]));
  LinearWeights weights;
  weights.weight.assign(rows.begin(), rows.end());
  weights.bias.assign(static_cast<size_t>(linear.outputs), 0.0f);
  if (linear.bias) {
    const auto bias = Weight(op, 1).subspan(static_cast<size_t>(linear.first_row), weights.bias.size());
    std::copy(bias.begin(), bias.end(), weights.bias.begin());
  }
  return weights;
}

Compiler::Folded Compiler::FoldLinear(const Operator& op, const program::Linear& linear) {
  Folded folded;
  LinearWeights weights = WeightsOf(op, linear);
  if (const auto norm = norms_.find(op.inputs[0].id); norm != norms_.end()) {
    const Operator& before = *norm->second;
    folded.settings.norm_epsilon = static_cast<float>(before.As<program::LayerNorm>()->epsilon);
    weights.FoldBefore(Weight(before, 0), Weight(before, 1));
  }
  const Tail tail = Follow(op, [&](const auto& scale, const auto& shift) { weights.FoldAfter(scale, shift); });
  folded.settings.activation = tail.activation;
  folded.last = tail.last;
  if (const Operator* const residual = ResidualAfter(tail)) {
    if (!residual->weights.empty()) {
      weights.FoldAfter(Weight(*residual, 0), std::vector<float>(weights.bias.size(), 0.0f));
    }
    folded.settings.residual = Read(residual->inputs[0], residual->output);
    folded.last = residual;
    done_.insert(residual);
  }
  folded.matrix = Pack(op, weights, NumbersOf(op));
  return folded;
}

const Operator* Compiler::LinearAfter(const Folded& folded) const {
  const Operator* next = folded.settings.residual ? nullptr : readers_.After<program::Linear>(folded.last);
  return next != nullptr && next->inputs.size() == 1 && next->As<program::Linear>()->code < 0 ? next : nullptr;
}

void Compiler::Do(const Operator& op, const program::Linear& linear) {
  if (linear.code >= 0) {
    DoCoded(op, linear);
    return;
  }
  Folded first = FoldLinear(op, linear);
  const auto norm = norms_.find(op.inputs[0].id);
  first.settings.x = norm == norms_.end() ? Joined(op) : Read(norm->second->inputs[0], op.output);
  const Operator* const next = LinearAfter(first);
  if (next == nullptr) {
    first.settings.y = Write(first.last->output);
    Add(op, MakeLinear(first.settings, first.matrix));
    return;
  }
  Folded second = FoldLinear(*next, *next->As<program::Linear>());
  done_.insert(next);
  second.settings.y = Write(second.last->output);
  Add(op, MakePerceptron(first.settings, first.matrix, second.settings, second.matrix));
}

void Compiler::DoCoded(const Operator& op, const program::Linear& linear) {
  const std::span<const float> codes = Weight(op, 2);
  const size_t length = static_cast<size_t>(program_.weights()[static_cast<size_t>(op.weights[2])].shape[1]);
  const LinearWeights whole = WeightsOf(op, linear);
  const size_t all = static_cast<size_t>(whole.inputs()), inputs = all - length;
  LinearWeights weights;
  std::vector<float> shift;
  for (size_t output = 0; output < whole.bias.size(); ++output) {
    const float* const row = whole.weight.data() + output * all;
    weights.weight.insert(weights.weight.end(), row, row + inputs);
    double sum = whole.bias[output];
    for (size_t i = 0; i < length; ++i) {
      sum += double{row[inputs + i]} * codes[static_cast<size_t>(linear.code) * length + i];
    }
    shift.push_back(static_cast<float>(sum));
  }
  weights.bias.assign(shift.size(), 0.0f);
  const auto [product, is_new] = products_.try_emplace({op.inputs[0].id, op.weights[0]});
  if (is_new) {
    const Operand x = Read(op.inputs[0], op.output);
    product->second = NewBuffer(RowsOfBuffer(x), weights.outputs());
    Add(op, MakeLinear({.x = x, .y = product->second}, Pack(op, weights, NumbersOf(op))));
  }
  std::vector<float> scale(shift.size(), 1.0f);
  const Tail tail = Follow(op, [&](const auto& factor, const auto& term) {
    for (size_t i = 0; i < shift.size(); ++i) {
      scale[i] *= factor[i];
      shift[i] = shift[i] * factor[i] + term[i];
    }
  });
  Add(op, MakeAffine(product->second, Write(tail.last->output), std::move(scale), std::move(shift), tail.activation));
}

void Compiler::Do(const Operator& op, const program::Activate&) {
  if (program_.info(op.output).kind == program::ValueKind::kMap) {
    std::vector<StemLayer> layers = maps_[op.inputs[0].id];
    if (layers.empty() || layers.back().convolve.pool > 0) {
      Refuse(op, "follows a pool, or nothing");
      return;
    }
    layers.back().activation = ActivationOf(op);
    maps_[op.output.id] = std::move(layers);
    return;
  }
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, MakeActivate(x, Write(op.output), ActivationOf(op)));
}

void Compiler::Do(const Operator& op, const program::Residual&) {
  const Operand x = Read(op.inputs[0], op.output);
  Operand branch = Read(op.inputs[1], op.output);
  if (!op.weights.empty()) {
    const Operand scaled = NewBuffer(RowsOfBuffer(branch), branch.columns);
    Add(op, MakeAffine(branch, scaled, Copy(op, 0), std::vector<float>(static_cast<size_t>(branch.columns), 0.0f),
                       Activation::kNone));
    branch = scaled;
  }
  Add(op, MakeAdd(x, branch, Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::Add&) {
  const Operand x = Read(op.inputs[0], op.output), z = Read(op.inputs[1], op.output);
  Add(op, MakeAdd(x, z, Write(op.output)));
}

}  // namespace vitrine::engine
