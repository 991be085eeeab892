// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/compiler.h"

#include <algorithm>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/engine/cpu/compile.h"
#include "models/engine/cpu/position_rows.h"
#include "models/token_tap.h"

namespace vitrine::engine {

using program::Operator;
using program::Value;
using program::ValueKind;

absl::StatusOr<Plan> Compile(const program::Program& program, WeightSource& weights, const Instructions& instructions,
                             const PrecisionChoice& choice, bool tokens, SharedMatrices& matrices) {
  return Compiler(program, weights, instructions, choice, tokens, matrices).Run();
}

namespace {

// Returns the stages of each value; the final tokens may be those of the last block too.
std::multimap<int, int> StagesOf(const program::Program& program) {
  std::multimap<int, int> stages;
  for (size_t i = 0; i < program.stages().size(); ++i) stages.emplace(program.stages()[i].id, static_cast<int>(i));
  if (program.final_tokens().id >= 0) stages.emplace(program.final_tokens().id, TokenTap::kFinal);
  return stages;
}

std::vector<Value> ResultsOf(const program::Program& program, bool tokens) {
  std::vector<Value> results = {program.logits()};
  if (!tokens) return results;
  for (const auto& [value, stage] : StagesOf(program)) results.push_back({value});
  return results;
}

}  // namespace

Compiler::Compiler(const program::Program& program, WeightSource& weights, const Instructions& instructions,
                   const PrecisionChoice& choice, bool tokens, SharedMatrices& matrices)
    : program_(program),
      weights_(weights),
      instructions_(instructions),
      choice_(choice),
      matrices_(matrices),
      demands_(program::DemandOf(program, ResultsOf(program, tokens))),
      readers_(program),
      narrow_stem_(HasNarrowStem()),
      values_(static_cast<size_t>(program.values())) {
  if (tokens) stages_ = StagesOf(program);
}

absl::StatusOr<Plan> Compiler::Run() {
  for (const Operator& op : program_.operators()) {
    if (Wanted(op.output) == Demand::kNone || done_.contains(&op)) continue;
    current_ = &op;
    std::visit([&](const auto& settings) { Do(op, settings); }, op.settings);
    if (!status_.ok()) return status_;
    HandOut();
  }
  plan_.cell = program_.cell();
  plan_.logits = Read(program_.logits());
  plan_.classes = plan_.logits.columns;
  PlanArena(plan_);
  return std::move(plan_);
}

void Compiler::HandOut() {
  for (auto stage = stages_.begin(); stage != stages_.end();) {
    if (IsThere({stage->first})) {
      Add(*current_, MakeHandOut(Read({stage->first}), stage->second));
      stage = stages_.erase(stage);
    } else {
      ++stage;
    }
  }
}

Operand Compiler::NewBuffer(RowsOf rows, int64_t columns) {
  plan_.buffers.push_back({rows, columns, -1});
  return {static_cast<int>(plan_.buffers.size()) - 1, 0, columns};
}

Operand Compiler::Write(Value value) {
  const program::Program::ValueInfo& info = program_.info(value);
  const bool rows = info.kind == ValueKind::kRows || ClassAlone(value);
  const RowsOf kind = rows ? RowsOf::kImages : info.kind == ValueKind::kCells ? RowsOf::kCells : RowsOf::kTokens;
  const Operand operand = NewBuffer(kind, info.columns);
  Put(value, operand);
  return operand;
}

void Compiler::Add(const Operator& op, StepPtr step) {
  step->name = op.name;
  plan_.steps.push_back(std::move(step));
}

void Compiler::Refuse(const Operator& op, absl::string_view why) {
  status_ = absl::UnimplementedError(absl::StrCat(op.name, ": ", program::KindName(op), " ", std::string(why)));
}

Operand Compiler::Read(Value value, Value result) {
  const Operand operand = Read(value);
  if (!ClassAlone(result) || RowsOfBuffer(operand) != RowsOf::kTokens) return operand;
  const auto [found, is_new] = class_rows_.try_emplace({operand.buffer, operand.first, operand.columns});
  if (is_new) {
    found->second = NewBuffer(RowsOf::kImages, operand.columns);
    Add(*current_, MakeTakeClass(operand, found->second));
  }
  return found->second;
}

std::span<const float> Compiler::Weight(const Operator& op, size_t i) const {
  const size_t weight = static_cast<size_t>(op.weights[i]);
  return {weights_.Floats(weight), static_cast<size_t>(program_.weights()[weight].elements())};
}

std::vector<float> Compiler::Copy(const Operator& op, size_t i) const {
  const std::span<const float> weight = Weight(op, i);
  return {weight.begin(), weight.end()};
}

ColumnAffine Compiler::AffineOf(const Operator& batch_norm) const {
  return AffineOfBatchNorm(Weight(batch_norm, 0), Weight(batch_norm, 1), Weight(batch_norm, 2), Weight(batch_norm, 3),
                           batch_norm.As<program::BatchNorm>()->epsilon);
}

const NarrowKernels* Compiler::NumbersOf(const Operator& op) const {
  const bool kept = choice_.kept.contains(op.name);
  if (choice_.precision == Precision::kInt8) return kept ? instructions_.bf16 : instructions_.int8;
  return choice_.precision == Precision::kBf16 && !kept ? instructions_.bf16 : nullptr;
}

// Always bf16: int8 would need ranges of both sides, and the weights of a softmax use few bits already.
const NarrowKernels* Compiler::ProductsOf(const Operator& op) const {
  return choice_.precision == Precision::kFp32 || choice_.kept.contains(op.name) ? nullptr : instructions_.bf16;
}

// Always bf16: a neighbourhood, unlike a row of tokens, has no range of its own for int8.
bool Compiler::HasNarrowStem() const {
  if (choice_.precision == Precision::kFp32 || instructions_.bf16 == nullptr) return false;
  for (const Operator& op : program_.operators()) {
    const auto* const convolve = op.As<program::Convolve>();
    if (convolve != nullptr && (convolve->pool > 0 || choice_.kept.contains(op.name))) return false;
  }
  return true;
}

std::shared_ptr<const LinearMatrix> Compiler::Pack(const Operator& op, const LinearWeights& weights,
                                                   const NarrowKernels* numbers, int64_t parts) {
  std::shared_ptr<const LinearMatrix> matrix = matrices_.Find(op);
  if (matrix == nullptr) {
    if (numbers != nullptr && numbers->of_bytes && weights.inputs() > kMostByteInputs) {
      Refuse(op, absl::StrCat("of ", weights.inputs(), " inputs is too wide for int8, whose sums hold ",
                              kMostByteInputs, "; keep it from int8"));
      numbers = nullptr;
    }
    matrix = std::make_shared<const LinearMatrix>(
        numbers == nullptr ? LinearMatrix(PackedMatrix(weights.matrix(), weights.bias.data(), *instructions_.fp32))
                           : LinearMatrix(NarrowMatrix(weights.matrix(), weights.bias.data(), *numbers, parts)));
    matrices_.Put(op, matrix);
  }
  return matrix;
}

std::vector<Operand> Compiler::Parts(Operand operand, int count) const {
  std::vector<Operand> parts;
  const int64_t width = operand.columns / count;
  for (int i = 0; i < count; ++i) parts.push_back({operand.buffer, operand.first + i * width, width});
  return parts;
}

Operand Compiler::Joined(const Operator& op) {
  if (op.inputs.size() == 1) return Read(op.inputs[0], op.output);
  std::vector<Operand> parts;
  int64_t columns = 0;
  for (const Value input : op.inputs) {
    parts.push_back(Read(input, op.output));
    columns += parts.back().columns;
  }
  const Operand joined = NewBuffer(RowsOfBuffer(parts[0]), columns);
  Add(op, MakeConcatenate(std::move(parts), joined));
  return joined;
}

// --- from images to tokens

void Compiler::Do(const Operator& op, const program::Convolve& convolve) {
  std::vector<StemLayer> layers = maps_[op.inputs[0].id];
  LinearWeights weights;
  const auto& shape = program_.weights()[static_cast<size_t>(op.weights[0])].shape;
  const std::span<const float> kernel = Weight(op, 0);
  const int64_t outputs = shape[0], taps = int64_t{convolve.kernel} * convolve.kernel;
  const int64_t inputs = static_cast<int64_t>(kernel.size()) / outputs / taps;
  weights.weight.assign(kernel.begin(), kernel.end());
  if (!convolve.channels_last) {  // [outputs, inputs, taps] to [outputs, taps, inputs]
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t i = 0; i < inputs; ++i) {
        for (int64_t t = 0; t < taps; ++t) {
          weights.weight[static_cast<size_t>((o * taps + t) * inputs + i)] =
              kernel[static_cast<size_t>((o * inputs + i) * taps + t)];
        }
      }
    }
  }
  weights.bias.assign(static_cast<size_t>(outputs), 0.0f);
  if (op.weights.size() > 1) weights.bias = Copy(op, 1);
  Tail tail = {.last = &op};
  if (convolve.pool == 0) {
    tail = Follow(op, [&](const auto& scale, const auto& shift) { weights.FoldAfter(scale, shift); });
  }
  const NarrowKernels* const numbers = narrow_stem_ ? instructions_.bf16 : nullptr;
  layers.push_back({convolve, Pack(op, weights, numbers, convolve.kernel), tail.activation});
  maps_[tail.last->output.id] = std::move(layers);
}

void Compiler::Do(const Operator& op, const program::ToTokens&) {
  if (maps_[op.inputs[0].id].empty()) {
    Refuse(op, "of the pictures themselves");
  } else if (maps_[op.inputs[0].id].size() > kMostStemLayers) {
    Refuse(op, "of more than eight convolutions");
  } else {
    Add(op, MakeStem(maps_[op.inputs[0].id], Write(op.output)));
  }
}

void Compiler::Do(const Operator& op, const program::Patchify& patchify) {
  Add(op, MakePatchify(patchify.patch, Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::TablePosition& position) {
  const Operand x = Read(op.inputs[0]);
  auto rows = [table = Copy(op, 0), prefix = program_.PrefixOf(op.inputs[0]), columns = x.columns,
               from = position.grid](Grid grid) {
    return grid == from ? table
                        : TableRows({table.data(), prefix + from.cells(), columns, columns}, prefix, from, grid);
  };
  const Operand y = Write(op.output);
  Add(op, MakeAddPositions(x, y, std::move(rows)));
}

void Compiler::Do(const Operator& op, const program::FourierPosition&) {
  const Operand x = Read(op.inputs[0]);
  auto rows = [weight = Copy(op, 0), bias = Copy(op, 1), columns = x.columns](Grid grid) {
    return FourierRows({weight.data(), columns, program::kFourierFeatures, program::kFourierFeatures}, bias.data(),
                       grid);
  };
  Add(op, MakeAddPositions(x, Write(op.output), std::move(rows)));
}

// --- rows of tokens, cells and images

void Compiler::Do(const Operator& op, const program::ClassToken&) {
  Add(op, MakeFill(Copy(op, 0), Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::Constant&) {
  const size_t columns = static_cast<size_t>(program_.info(op.output).columns);
  Add(op, MakeFill(std::vector<float>(columns, 0.0f), Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::JoinClass&) {
  const Operand rows = Read(op.inputs[0]);
  if (ClassAlone(op.output)) {
    Put(op.output, rows);
  } else {
    const Operand cells = Read(op.inputs[1]);
    Add(op, MakeJoinClass(rows, cells, Write(op.output)));
  }
}

void Compiler::Do(const Operator& op, const program::TakeClass&) {
  const Operand x = Read(op.inputs[0]);
  if (RowsOfBuffer(x) == RowsOf::kImages) {
    Put(op.output, x);
  } else {
    Add(op, MakeTakeClass(x, Write(op.output)));
  }
}

void Compiler::Do(const Operator& op, const program::TakeCells&) {
  const Operand x = Read(op.inputs[0]);
  Add(op, MakeTakeCells(x, Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::MeanTokens&) {
  const Operand x = Read(op.inputs[0]);
  Add(op, MakeMeanOfCells(x, Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::Custom& custom) {
  const Operand x = Read(op.inputs[0], op.output);
  Add(op, MakeCustom(custom, x, Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::Columns& columns) {
  const Operand x = Read(op.inputs[0], op.output);
  Put(op.output, {x.buffer, x.first + columns.first, columns.count});
}

void Compiler::Do(const Operator& op, const program::Concatenate&) {
  Put(op.output, Joined(op));
}

void Compiler::Do(const Operator& op, const program::Drop&) {
  if (program_.info(op.output).kind == ValueKind::kMap) {
    maps_[op.output.id] = maps_[op.inputs[0].id];
  } else {
    Put(op.output, Read(op.inputs[0]));
  }
}

// --- attention and grid convolutions

void Compiler::Do(const Operator& op, const program::Attend& attend) {
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
    const std::vector<float> map = Copy(op, 0);
    scaled.scale *= std::accumulate(map.begin(), map.end(), 0.0);
    offsets = KeyOffsets(map, 1 + program_.table().cells());
  }
  // fp32 for a single query: its keys are read once, so packing them would not pay.
  const NarrowKernels* const bf16 = attend.class_query ? nullptr : ProductsOf(op);
  Add(op, MakeAttend(scaled, qkv[0], qkv[1], qkv[2], std::move(offsets), Write(op.output), bf16));
}

void Compiler::Do(const Operator& op, const program::AttendChannels& attend) {
  std::vector<Operand> qkv;
  if (op.inputs.size() == 1) {
    qkv = Parts(Read(op.inputs[0]), 3);
  } else {
    for (const Value input : op.inputs) qkv.push_back(Read(input));
  }
  Add(op, MakeAttendChannels(attend, qkv[0], qkv[1], qkv[2], Copy(op, 0), Write(op.output), ProductsOf(op)));
}

void Compiler::Do(const Operator& op, const program::AttendLinearly& attend) {
  std::vector<Operand> qkv = Parts(Read(op.inputs.back()), attend.class_query ? 2 : 3);
  if (attend.class_query) qkv.insert(qkv.begin(), Read(op.inputs[0]));
  Add(op, MakeAttendLinearly(attend, qkv[0], qkv[1], qkv[2], Copy(op, 0), Copy(op, 1), Write(op.output)));
}

void Compiler::Do(const Operator& op, const program::ConvolveGrid& convolve) {
  const Operand x = Read(op.inputs[0], op.output);
  if (ClassAlone(op.output)) {
    Put(op.output, x);  // class tokens pass through
    return;
  }
  const bool tokens = IsTokens(op.output);  // the operators that follow would change class tokens too
  if (convolve.depthwise) {
    DepthwiseWeights weights;
    const std::span<const float> kernel = Weight(op, 0);  // [channels, 9]
    const size_t channels = static_cast<size_t>(x.columns);
    for (size_t tap = 0; tap < 9; ++tap) {
      for (size_t c = 0; c < channels; ++c) weights.weights.push_back(kernel[c * 9 + tap]);
    }
    weights.bias = Copy(op, 1);
    const Operator* gelu = tokens ? nullptr : readers_.GeluAfter(&op);
    const Operator* norm = readers_.After<program::BatchNorm>(gelu);
    if (norm != nullptr) {
      const ColumnAffine affine = AffineOf(*norm);
      weights.scale = affine.scale;
      weights.shift = affine.shift;
      done_.insert({gelu, norm});
      Add(op, MakeDepthwise(x, Write(norm->output), std::move(weights), std::nullopt, NumbersOf(op)));
      return;
    }
    const auto fold = [&](std::span<const float> scale, std::span<const float> shift) {
      for (size_t i = 0; i < weights.weights.size(); ++i) weights.weights[i] *= scale[i % channels];
      for (size_t c = 0; c < channels; ++c) weights.bias[c] = weights.bias[c] * scale[c] + shift[c];
    };
    const Operator* last = &op;
    if (const Operator* affine = tokens ? nullptr : readers_.After<program::Affine>(last)) {
      fold(Weight(*affine, 0), Weight(*affine, 1));
      done_.insert(affine);
      last = affine;
    }
    std::optional<Operand> added;
    if (const Operator* residual = tokens ? nullptr : ResidualAfter({.last = last})) {
      if (!residual->weights.empty()) fold(Weight(*residual, 0), std::vector<float>(channels, 0.0f));
      added = Read(residual->inputs[0], residual->output);
      done_.insert(residual);
      last = residual;
    }
    Add(op, MakeDepthwise(x, Write(last->output), std::move(weights), added, NumbersOf(op)));
    return;
  }
  LinearWeights weights;
  weights.weight = Copy(op, 0);
  weights.bias.assign(static_cast<size_t>(program_.info(op.output).columns), 0.0f);
  Tail tail = {.last = &op};
  if (!tokens) tail = Follow(op, [&](const auto& scale, const auto& shift) { weights.FoldAfter(scale, shift); });
  Add(op, MakeDenseConvolution(x, Write(tail.last->output), Pack(op, weights, NumbersOf(op)), tail.activation));
}

}  // namespace vitrine::engine
