// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/lowering.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/engine/plan/position_rows.h"
#include "models/token_tap.h"

namespace vitrine::engine {

using program::Operator;
using program::Value;
using program::ValueKind;

namespace {

absl::Status CheckKept(const program::Program& program, const PrecisionChoice& choice) {
  for (const std::string& name : choice.kept) {
    const auto is_it = [&](const Operator& op) { return op.name == name; };
    if (std::none_of(program.operators().begin(), program.operators().end(), is_it)) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' cannot be excluded from ", Name(choice.precision),
                                                     "; the model has no such operator"));
    }
  }
  return absl::OkStatus();
}

// Returns the stages by value id. A value can have two stages, for example the last block and the final tokens.
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

absl::StatusOr<LoweredPlan> Lower(const program::Program& program, WeightSource& weights, const PrecisionChoice& choice,
                                  bool has_bf16, bool tokens, bool head_rows) {
  RETURN_IF_ERROR(CheckKept(program, choice));
  return Lowering(program, weights, choice, has_bf16, tokens, head_rows).Run();
}

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

// Never returns int8: both operands would need ranges, and softmax weights would use only a few of the 8 bits.
Precision Lowering::PrecisionOfProducts(const Operator& op) const {
  const bool narrow = choice_.precision != Precision::kFp32 && !choice_.kept.contains(op.name);
  return narrow && has_bf16_ ? Precision::kBf16 : Precision::kFp32;
}

// A stem is never int8: each row of an int8 operand needs its own range, but the rows of a convolution are
// neighbourhoods that share pixels.
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

}  // namespace vitrine::engine
