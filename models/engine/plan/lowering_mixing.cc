// SPDX-License-Identifier: Apache-2.0
// Lowers the operators that mix the rows of an image: attention and the convolutions over the grid.
#include <numeric>
#include <utility>

#include "models/engine/plan/lowering.h"
#include "models/engine/plan/position_rows.h"

namespace vitrine::engine {

using program::Operator;
using program::Value;

std::vector<Operand> Lowering::Parts(Operand operand, int count) const {
  std::vector<Operand> parts;
  const int64_t width = operand.columns / count;
  for (int i = 0; i < count; ++i) parts.push_back({operand.buffer, operand.first + i * width, width});
  return parts;
}

void Lowering::Do(const Operator& op, const program::Attend& attend) {
  std::vector<Operand> qkv;
  if (op.inputs.size() == 3) {
    for (const Value input : op.inputs) qkv.push_back(Read(input));
  } else {
    qkv = Parts(Read(op.inputs[0]), attend.shared_key ? 2 : 3);
    if (attend.shared_key) qkv.insert(qkv.begin(), qkv[0]);
  }
  program::Attend scaled = attend;
  std::vector<float> offsets;
  if (!op.weights.empty()) {
    const std::vector<float> map = weights_.Copy(op, 0);
    scaled.scale *= std::accumulate(map.begin(), map.end(), 0.0);
    offsets = KeyOffsets(map, 1 + program_.table().cells());
  }
  // A single query is computed in fp32. It reads each key only once, so converting the keys to bf16 would take longer
  // than it saves.
  const Precision precision = attend.class_query ? Precision::kFp32 : PrecisionOfProducts(op);
  Add(op, AttendStep{scaled, qkv[0], qkv[1], qkv[2], Write(op.output), std::move(offsets), precision, op.name});
}

void Lowering::Do(const Operator& op, const program::AttendChannels& attend) {
  std::vector<Operand> qkv;
  if (op.inputs.size() == 1) {
    qkv = Parts(Read(op.inputs[0]), 3);
  } else {
    for (const Value input : op.inputs) qkv.push_back(Read(input));
  }
  Add(op, AttendChannelsStep{attend, qkv[0], qkv[1], qkv[2], Write(op.output), weights_.Copy(op, 0),
                             PrecisionOfProducts(op), op.name});
}

void Lowering::Do(const Operator& op, const program::AttendLinearly& attend) {
  std::vector<Operand> qkv = Parts(Read(op.inputs.back()), attend.class_query ? 2 : 3);
  if (attend.class_query) qkv.insert(qkv.begin(), Read(op.inputs[0]));
  Add(op,
      AttendLinearlyStep{attend, qkv[0], qkv[1], qkv[2], Write(op.output), weights_.Copy(op, 0), weights_.Copy(op, 1)});
}

void Lowering::Do(const Operator& op, const program::ConvolveGrid& convolve) {
  const Operand x = Read(op.inputs[0], op.output);
  if (HeadsAlone(op.output)) {
    Put(op.output, x);  // class tokens pass through
    return;
  }
  if (convolve.depthwise) {
    DoDepthwise(op, x);
    return;
  }
  std::vector<ColumnFold> folds;
  Tail tail = {.last = &op};
  if (!IsTokens(op.output)) tail = Follow(op, folds);  // a folded operator would skip class tokens
  const int64_t outputs = program_.info(op.output).columns;
  const int64_t inputs = program_.weights()[static_cast<size_t>(op.weights[0])].elements() / outputs;
  FoldedMatrix matrix = MatrixOf(
      op, inputs, outputs, PrecisionOf(op), [weights = weights_, &op] { return weights.OfGridConvolution(op); },
      std::move(folds));
  Add(op, DenseConvolutionStep{x, Write(tail.last->output), std::move(matrix), tail.activation});
}

void Lowering::DoDepthwise(const Operator& op, Operand x) {
  const bool tokens = IsTokens(op.output);  // true: folds nothing, because a folded operator would skip class tokens
  DepthwiseStep step = {.x = x, .y = {}, .bias = weights_.Copy(op, 1), .precision = PrecisionOf(op), .op = op.name};
  const std::span<const float> kernel = weights_.Of(op, 0);  // [channels, 9]
  const size_t channels = static_cast<size_t>(x.columns);
  for (size_t tap = 0; tap < 9; ++tap) {
    for (size_t c = 0; c < channels; ++c) step.weights.push_back(kernel[c * 9 + tap]);
  }
  const Operator* gelu = tokens ? nullptr : readers_.GeluAfter(&op);
  const Operator* norm = readers_.After<program::BatchNorm>(gelu);
  if (norm != nullptr) {
    ColumnAffine affine = weights_.OfBatchNorm(*norm);
    step.scale = std::move(affine.scale);
    step.shift = std::move(affine.shift);
    done_.insert({gelu, norm});
    step.y = Write(norm->output);
    Add(op, std::move(step));
    return;
  }
  const auto fold = [&](std::span<const float> scale, std::span<const float> shift) {
    for (size_t i = 0; i < step.weights.size(); ++i) step.weights[i] *= scale[i % channels];
    for (size_t c = 0; c < channels; ++c) step.bias[c] = step.bias[c] * scale[c] + shift[c];
  };
  const Operator* last = &op;
  if (const Operator* affine = tokens ? nullptr : readers_.After<program::Affine>(last)) {
    fold(weights_.Of(*affine, 0), weights_.Of(*affine, 1));
    done_.insert(affine);
    last = affine;
  }
  if (const Operator* residual = tokens ? nullptr : ResidualAfter({.last = last})) {
    if (!residual->weights.empty()) fold(weights_.Of(*residual, 0), std::vector<float>(channels, 0.0f));
    step.residual = Read(residual->inputs[0], residual->output);
    done_.insert(residual);
    last = residual;
  }
  step.y = Write(last->output);
  Add(op, std::move(step));
}

}  // namespace vitrine::engine
