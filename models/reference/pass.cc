// SPDX-License-Identifier: Apache-2.0
#include "models/reference/pass.h"

#include <ATen/TensorOperators.h>

#include <variant>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/add_positions.h"
#include "models/reference/operators/convolution/convolution_patches.h"
#include "models/reference/operators/convolution/strided_convolution.h"
#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/custom.h"
#include "models/reference/operators/fourier_positions.h"
#include "models/reference/operators/gemm.h"
#include "models/reference/operators/patches.h"
#include "models/reference/operators/position_table.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {

using program::Demand;
using program::Operator;
using program::Value;
using program::ValueKind;

Interpreter::Pass::Pass(const Interpreter& plan, const std::vector<at::Tensor>& weights, const ImageBatch& images,
                        const ForwardContext& context)
    : plan_(plan),
      program_(plan.program_),
      weights_(weights),
      context_(context),
      demands_(plan.DemandFor(context)),
      held_(static_cast<size_t>(program_.values())) {
  held_[0].maps = images;
  if (program_.cell() == 0) return;
  const std::vector<Grid> grids = GridsOf(images, program_.cell());
  cells_ = TokenLayout::Make(grids, /*prefix_tokens=*/0);
  tokens_ = TokenLayout::Make(grids, program_.prefix_tokens());
}

at::Tensor Interpreter::Pass::Run() {
  for (size_t i = 0; i < plan_.steps_.size(); ++i) {
    if (Wanted(plan_.steps_[i].result) != Demand::kNone) Run(plan_.steps_[i]);
    for (const Value value : plan_.last_read_[i]) Release(value);
  }
  return held_[At(program_.logits())].data;
}

void Interpreter::Pass::Run(const OperatorStep& step) {
  step_ = &step;
  Held& result = held_[At(step.result)];
  std::visit([&](const auto& settings) { Do(*step.op, settings, result); }, step.op->settings);
  // Some operators return their input or compute in the type of their input. The result may then be bf16, although an
  // operator that reads it requires fp32.
  const bool rounded = result.data.defined() && result.data.scalar_type() != at::kFloat;
  if (rounded && !plan_.operands_[At(step.result)]) result.data = result.data.to(at::kFloat);
  result.class_alone = program_.info(step.result).kind == ValueKind::kTokens && Wanted(step.result) == Demand::kClass;
  // Operators on single rows reduce their inputs to the rows of class tokens (see Input). For other operators, the
  // result is reduced here. An image has at least one cell, so a result with more rows than images is not reduced yet.
  if (result.class_alone && result.data.size(0) != tokens_->images()) {
    result.data = PrefixTokens({result.data, tokens_}, 0);
  }
  HandOut(step.result);
}

void Interpreter::Pass::Release(Value value) {
  held_[At(value)] = {};
  products_.erase(products_.lower_bound({value.id, 0}), products_.lower_bound({value.id + 1, 0}));
}

at::Tensor Interpreter::Pass::WeightOr(const Operator& op, size_t i) const {
  return i < op.weights.size() ? Weight(op, i) : at::Tensor();
}

const std::shared_ptr<const TokenLayout>& Interpreter::Pass::LayoutOf(Value value) const {
  return program_.info(value).kind == ValueKind::kTokens ? tokens_ : cells_;
}

at::Tensor Interpreter::Pass::Input(const Operator& op, size_t i) const {
  const Held& held = held_[At(op.inputs[i])];
  const bool class_alone =
      Wanted(step_->result) == Demand::kClass && program_.info(op.output).kind == ValueKind::kTokens;
  if (!class_alone || held.class_alone || program_.info(op.inputs[i]).kind != ValueKind::kTokens) return held.data;
  return PrefixTokens(Packed(op.inputs[i]), 0);
}

at::ScalarType Interpreter::Pass::TypeOf(const Operator& op, const at::Tensor& x) const {
  return plan_.operands_[At(op.output)] ? OperandType(x, context_) : at::kFloat;
}

void Interpreter::Pass::HandOut(Value value) {
  const auto hand_out = [&](int stage) {
    if (!context_.WantsTokens(stage)) return;
    const PackedTokens x = Packed(value);  // the last rows may be padding
    context_.tokens->Put(stage, {FloatsOf(x.data.narrow(0, 0, x.layout->total_tokens())), x.layout});
  };
  const auto stage = plan_.stage_of_.find(value.id);
  if (stage != plan_.stage_of_.end()) hand_out(stage->second);
  if (value == program_.final_tokens()) hand_out(TokenTap::kFinal);
  if (value == program_.projection() && context_.WantsTokens(TokenTap::kProjection)) {
    context_.tokens->Put(TokenTap::kProjection, {FloatsOf(held_[At(value)].data), cells_});
  }
}

void Interpreter::Pass::Do(const Operator& op, const program::Convolve& convolve, Held& result) {
  const Held& input = held_[At(op.inputs[0])];
  if (step_->norm != nullptr) {
    const Maps maps = convolve.cut > 1 ? RunsOf(input.maps, convolve.cut) : input.maps;
    result.maps = ConvolveAndNormalize(maps, Weight(op, 0), Norm(*step_->norm), step_->gelu != nullptr, context_);
  } else if (convolve.pool > 0) {
    result.maps = {ConvolveAndPool(input.maps, Weight(op, 0), Weight(op, 1), convolve.pool, context_)};
  } else {
    result.maps = ConvolveImages(input.maps, Weight(op, 0), Weight(op, 1), convolve.stride, convolve.padding, context_);
  }
}

void Interpreter::Pass::Do(const Operator& op, const program::ToTokens&, Held& result) {
  const Maps& maps = held_[At(op.inputs[0])].maps;
  if (maps[0].dim() == 2) {
    result.data = maps[0];  // the cells are already rows
  } else if (maps[0].dim() == 4) {
    result.data = PixelsOfAll(maps);
  } else {
    result.data = PixelsAsTokens(maps);
  }
}

void Interpreter::Pass::Do(const Operator& op, const program::Patchify& patchify, Held& result) {
  result.data = PatchRows(held_[At(op.inputs[0])].maps, patchify.patch, context_);
}

void Interpreter::Pass::Do(const Operator& op, const program::TablePosition& position, Held& result) {
  const PackedTokens x = Packed(op.inputs[0]);
  result.data = AddPositions(x, x.data.size(0), [&](Grid grid) {
    return TableFor(Weight(op, 0), position.grid, grid, position.prefix, *plan_.interpolations_.at(&op),
                    x.layout->prefix_tokens() - position.prefix);
  });
}

void Interpreter::Pass::Do(const Operator& op, const program::FourierPosition&, Held& result) {
  const PackedTokens x = Packed(op.inputs[0]);
  result.data = AddPositions(x, RowsFor(*x.layout, x.data), [&](Grid grid) {
    return AffineMap(FourierFeaturesOf(grid).to(x.data.device()), Weight(op, 0), Weight(op, 1), context_.bf16);
  });
}

void Interpreter::Pass::Do(const Operator& op, const program::ClassToken& token, Held& result) {
  result.data = Weight(op, 0).narrow(0, token.row, 1).expand({tokens_->images(), Weight(op, 0).size(1)});
}

void Interpreter::Pass::Do(const Operator& op, const program::JoinClass&, Held& result) {
  std::vector<at::Tensor> rows;
  for (size_t i = 0; i + 1 < op.inputs.size(); ++i) rows.push_back(held_[At(op.inputs[i])].data);
  result.data = Wanted(op.output) == Demand::kClass
                    ? rows[0]
                    : JoinPrefixTokens(rows, {held_[At(op.inputs.back())].data, cells_}, tokens_).data;
}

void Interpreter::Pass::Do(const Operator& op, const program::TakeClass& take, Held& result) {
  const Held& input = held_[At(op.inputs[0])];
  result.data = (input.class_alone ? input.data : PrefixTokens(Packed(op.inputs[0]), take.token)).to(at::kFloat);
}

void Interpreter::Pass::Do(const Operator& op, const program::TakeCells&, Held& result) {
  result.data = CellTokens(Packed(op.inputs[0])).to(at::kFloat);
}

void Interpreter::Pass::Do(const Operator& op, const program::MeanTokens&, Held& result) {
  result.data = MeanOfImages(Packed(op.inputs[0]));
}

void Interpreter::Pass::Do(const Operator& op, const program::Custom& custom, Held& result) {
  result.data = RunCustom(Packed(op.inputs[0]), custom);
}

}  // namespace vitrine
