// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/lowering.h"

#include <algorithm>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/engine/plan/lower.h"
#include "models/engine/plan/position_rows.h"
#include "models/token_tap.h"

namespace vitrine::engine {

using program::Operator;
using program::Value;
using program::ValueKind;

absl::StatusOr<LoweredPlan> Lower(const program::Program& program, WeightSource& weights, const PrecisionChoice& choice,
                                  bool has_bf16, bool tokens, bool head_rows) {
  return Lowering(program, weights, choice, has_bf16, tokens, head_rows).Run();
}

namespace {

// Returns the stages of each value. A value can have two stages: the last block and the final tokens.
std::multimap<int, int> StagesOf(const program::Program& program) {
  std::multimap<int, int> stages;
  for (size_t i = 0; i < program.stages().size(); ++i) stages.emplace(program.stages()[i].id, static_cast<int>(i));
  if (program.final_tokens().id >= 0) stages.emplace(program.final_tokens().id, TokenTap::kFinal);
  if (program.projection().id >= 0) stages.emplace(program.projection().id, TokenTap::kProjection);
  return stages;
}

std::vector<Value> ResultsOf(const program::Program& program, bool tokens) {
  std::vector<Value> results = {program.logits()};
  if (!tokens) return results;
  for (const auto& [value, stage] : StagesOf(program)) results.push_back({value});
  return results;
}

}  // namespace

Lowering::Lowering(const program::Program& program, WeightSource& weights, const PrecisionChoice& choice, bool has_bf16,
                   bool tokens, bool head_rows)
    : program_(program),
      weights_(program, weights),
      choice_(choice),
      has_bf16_(has_bf16),
      head_rows_(head_rows),
      demands_(program::DemandOf(program, ResultsOf(program, tokens))),
      readers_(program),
      narrow_stem_(HasNarrowStem()),
      values_(static_cast<size_t>(program.values())) {
  if (tokens) stages_ = StagesOf(program);
}

absl::StatusOr<LoweredPlan> Lowering::Run() {
  for (const Operator& op : program_.operators()) {
    if (Wanted(op.output) == Demand::kNone || done_.contains(&op)) continue;
    current_ = &op;
    std::visit([&](const auto& settings) { Do(op, settings); }, op.settings);
    if (!status_.ok()) return status_;
    HandOut();
  }
  plan_.cell = program_.cell();
  plan_.prefix = program_.prefix_tokens();
  plan_.logits = Read(program_.logits());
  plan_.classes = plan_.logits.columns;
  PlanArena(plan_);
  return std::move(plan_);
}

void Lowering::HandOut() {
  for (auto stage = stages_.begin(); stage != stages_.end();) {
    if (IsThere({stage->first})) {
      Add(*current_, HandOutStep{Read({stage->first}), stage->second});
      stage = stages_.erase(stage);
    } else {
      ++stage;
    }
  }
}

Operand Lowering::NewBuffer(RowsOf rows, int64_t columns) {
  plan_.buffers.push_back({rows, columns, -1});
  return {static_cast<int>(plan_.buffers.size()) - 1, 0, columns};
}

RowsOf Lowering::RowsOfValue(Value value) const {
  const ValueKind kind = program_.info(value).kind;
  if (kind == ValueKind::kCells) return RowsOf::kCells;
  if (kind == ValueKind::kRows) return RowsOf::kImages;
  if (Wanted(value) == Demand::kHeads && head_rows_) return RowsOf::kHeads;
  return Wanted(value) == Demand::kClass ? RowsOf::kImages : RowsOf::kTokens;
}

Operand Lowering::Write(Value value) {
  const Operand operand = NewBuffer(RowsOfValue(value), program_.info(value).columns);
  Put(value, operand);
  return operand;
}

void Lowering::Add(const Operator& op, decltype(PlanStep::settings) step) {
  plan_.steps.push_back(MakePlanStep(op.name, std::move(step)));
}

void Lowering::Refuse(const Operator& op, absl::string_view why) {
  status_ = absl::UnimplementedError(absl::StrCat(op.name, ": ", program::KindName(op), " ", std::string(why)));
}

Operand Lowering::Read(Value value, Value result) {
  const Operand operand = Read(value);
  const RowsOf rows = RowsOfValue(result);
  if (!HeadsAlone(result) || !IsTokens(value) || RowsOfBuffer(operand) == rows) return operand;
  const auto [found, is_new] = taken_rows_.try_emplace({operand.buffer, operand.first, operand.columns, rows});
  if (is_new) {
    found->second = NewBuffer(rows, operand.columns);
    const int tokens = rows == RowsOf::kHeads ? kHeadTokens : 1;
    for (int token = 0; token < tokens; ++token) Add(*current_, TakeClassStep{operand, found->second, token});
  }
  return found->second;
}

Precision Lowering::PrecisionOf(const Operator& op) const {
  const Precision bf16 = has_bf16_ ? Precision::kBf16 : Precision::kFp32;
  const bool kept = choice_.kept.contains(op.name);
  if (choice_.precision == Precision::kInt8) return kept ? bf16 : Precision::kInt8;
  return choice_.precision == Precision::kBf16 && !kept ? bf16 : Precision::kFp32;
}

// Never returns int8, because both operands would need ranges and softmax weights would use only a few of the bits.
Precision Lowering::PrecisionOfProducts(const Operator& op) const {
  const bool narrow = choice_.precision != Precision::kFp32 && !choice_.kept.contains(op.name);
  return narrow && has_bf16_ ? Precision::kBf16 : Precision::kFp32;
}

// A stem is never int8: each row of an int8 operand needs its own range, but here the rows share pixels.
bool Lowering::HasNarrowStem() const {
  if (choice_.precision == Precision::kFp32 || !has_bf16_) return false;
  for (const Operator& op : program_.operators()) {
    const auto* const convolve = op.As<program::Convolve>();
    if (convolve != nullptr && (convolve->pool > 0 || choice_.kept.contains(op.name))) return false;
  }
  return true;
}

FoldedMatrix Lowering::MatrixOf(const Operator& op, int64_t inputs, int64_t outputs, Precision precision,
                                std::function<LinearWeights()> base, std::vector<ColumnFold> folds) {
  if (precision == Precision::kInt8 && inputs > kMostByteInputs) {
    Refuse(op, absl::StrCat("of ", inputs, " inputs is too wide for int8; the maximum is ", kMostByteInputs,
                            "; exclude it from int8"));
  }
  auto weights = [base = std::move(base), folds = std::move(folds)] {
    LinearWeights made = base();
    for (const ColumnFold& fold : folds) {
      if (fold.before) {
        made.FoldBefore(fold.affine.scale, fold.affine.shift);
      } else {
        made.FoldAfter(fold.affine.scale, fold.affine.shift);
      }
    }
    return made;
  };
  return {.op = &op,
          .inputs = inputs,
          .outputs = outputs,
          .precision = precision,
          .names = {op.name},
          .weights = std::move(weights)};
}

std::vector<Operand> Lowering::Parts(Operand operand, int count) const {
  std::vector<Operand> parts;
  const int64_t width = operand.columns / count;
  for (int i = 0; i < count; ++i) parts.push_back({operand.buffer, operand.first + i * width, width});
  return parts;
}

Operand Lowering::Joined(const Operator& op) {
  if (op.inputs.size() == 1) return Read(op.inputs[0], op.output);
  std::vector<Operand> parts;
  int64_t columns = 0;
  for (const Value input : op.inputs) {
    parts.push_back(Read(input, op.output));
    columns += parts.back().columns;
  }
  const Operand joined = NewBuffer(RowsOfBuffer(parts[0]), columns);
  Add(op, ConcatenateStep{std::move(parts), joined});
  return joined;
}

// --- from images to tokens

void Lowering::Do(const Operator& op, const program::Convolve& convolve) {
  std::vector<StemConvolution> layers = maps_[op.inputs[0].id];
  const auto& weight = program_.weights()[static_cast<size_t>(op.weights[0])];
  std::vector<ColumnFold> folds;
  Tail tail = {.last = &op};
  if (convolve.pool == 0) tail = Follow(op, folds);
  FoldedMatrix matrix = MatrixOf(
      op, weight.elements() / weight.shape[0], weight.shape[0], narrow_stem_ ? Precision::kBf16 : Precision::kFp32,
      [weights = weights_, &op] { return weights.OfConvolution(op); }, std::move(folds));
  matrix.parts = convolve.kernel;
  layers.push_back({convolve, std::move(matrix), tail.activation});
  maps_[tail.last->output.id] = std::move(layers);
}

void Lowering::Do(const Operator& op, const program::ToTokens&) {
  if (maps_[op.inputs[0].id].empty()) {
    Refuse(op, "without a convolution");
  } else if (maps_[op.inputs[0].id].size() > kMostStemLayers) {
    Refuse(op, "after more than eight convolutions");
  } else {
    Add(op, StemStep{maps_[op.inputs[0].id], Write(op.output)});
  }
}

void Lowering::Do(const Operator& op, const program::Patchify& patchify) {
  Add(op, PatchifyStep{patchify.patch, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::TablePosition& position) {
  const Operand x = Read(op.inputs[0]);
  auto rows = [table = weights_.Copy(op, 0), prefix = position.prefix, columns = x.columns,
               others = program_.PrefixOf(op.inputs[0]) - position.prefix, from = position.grid,
               resize = position.resize](Grid grid) {
    std::vector<float> rows =
        grid == from ? table
                     : TableRows({table.data(), prefix + from.cells(), columns, columns}, prefix, from, grid, resize);
    rows.insert(rows.begin() + prefix * columns, static_cast<size_t>(others * columns), 0.0f);
    return rows;
  };
  const Operand y = Write(op.output);
  Add(op, AddPositionsStep{x, y, std::move(rows)});
}

void Lowering::Do(const Operator& op, const program::FourierPosition&) {
  const Operand x = Read(op.inputs[0]);
  auto rows = [weight = weights_.Copy(op, 0), bias = weights_.Copy(op, 1), columns = x.columns](Grid grid) {
    return FourierRows({weight.data(), columns, program::kFourierFeatures, program::kFourierFeatures}, bias.data(),
                       grid);
  };
  Add(op, AddPositionsStep{x, Write(op.output), std::move(rows)});
}

// --- rows of tokens, cells and images

void Lowering::Do(const Operator& op, const program::ClassToken& token) {
  const std::span<const float> rows = weights_.Of(op, 0);
  const auto columns = static_cast<size_t>(program_.info(op.output).columns);
  const std::span<const float> row = rows.subspan(static_cast<size_t>(token.row) * columns, columns);
  Add(op, FillStep{{row.begin(), row.end()}, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::Constant&) {
  const size_t columns = static_cast<size_t>(program_.info(op.output).columns);
  Add(op, FillStep{std::vector<float>(columns, 0.0f), Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::JoinClass&) {
  if (HeadsAlone(op.output)) {
    Put(op.output, Read(op.inputs[0]));
    return;
  }
  std::vector<Operand> rows;
  for (size_t i = 0; i + 1 < op.inputs.size(); ++i) rows.push_back(Read(op.inputs[i]));
  const Operand cells = Read(op.inputs.back());
  Add(op, JoinClassStep{std::move(rows), cells, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::TakeClass& take) {
  const Operand x = Read(op.inputs[0]);
  if (RowsOfBuffer(x) == RowsOf::kImages) {
    Put(op.output, x);
  } else {
    Add(op, TakeClassStep{x, Write(op.output), take.token});
  }
}

void Lowering::Do(const Operator& op, const program::TakeCells&) {
  const Operand x = Read(op.inputs[0]);
  Add(op, TakeCellsStep{x, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::MeanTokens&) {
  const Operand x = Read(op.inputs[0]);
  Add(op, MeanOfCellsStep{x, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::Custom& custom) {
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, CustomStep{custom, x, Write(op.output)});
}

void Lowering::Do(const Operator& op, const program::Drop&) {
  if (program_.info(op.output).kind == ValueKind::kMap) {
    maps_[op.output.id] = maps_[op.inputs[0].id];
  } else {
    Put(op.output, Read(op.inputs[0]));
  }
}

// --- attention and grid convolutions

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
  // A single query is computed in fp32: it reads each key once, so packing the keys would take longer than it saves.
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
