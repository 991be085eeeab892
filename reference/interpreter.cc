// SPDX-License-Identifier: Apache-2.0
#include "reference/interpreter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include <map>
#include <optional>
#include <utility>

#include "reference/operands.h"
#include "reference/operators/add_positions.h"
#include "reference/operators/attention.h"
#include "reference/operators/batch_norm.h"
#include "reference/operators/class_attention.h"
#include "reference/operators/convolution_patches.h"
#include "reference/operators/convolution_stem.h"
#include "reference/operators/cpu_kernels.h"
#include "reference/operators/cross_covariance_attention.h"
#include "reference/operators/custom.h"
#include "reference/operators/depthwise_convolution.h"
#include "reference/operators/dropout.h"
#include "reference/operators/elementwise.h"
#include "reference/operators/fourier_positions.h"
#include "reference/operators/gemm.h"
#include "reference/operators/grid_convolution.h"
#include "reference/operators/kv_attention.h"
#include "reference/operators/layer_norm.h"
#include "reference/operators/patches.h"
#include "reference/operators/strided_convolution.h"
#include "reference/operators/token_sequence.h"
#include "reference/operators/x_attention.h"

namespace vitrine {

using program::Demand;
using program::Operator;
using program::Value;
using program::ValueKind;

// One forward pass.
class Interpreter::Pass {
 public:
  Pass(const Interpreter& plan, const std::vector<at::Tensor>& weights, const ImageBatch& images,
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
    tokens_ = TokenLayout::Make(grids, /*prefix_tokens=*/1);
  }

  at::Tensor Run() {
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      if (Wanted(plan_.steps_[i].result) != Demand::kNone) Run(plan_.steps_[i]);
      for (const Value value : plan_.last_read_[i]) Release(value);
    }
    return held_[At(program_.logits())].data;
  }

 private:
  void Run(const OperatorStep& step) {
    step_ = &step;
    Held& result = held_[At(step.result)];
    std::visit([&](const auto& settings) { Do(*step.op, settings, result); }, step.op->settings);
    // What hands its input on, or computes in its type, may have another than those who read it expect.
    if (!plan_.operands_[At(step.result)] && result.data.defined()) result.data = result.data.to(at::kFloat);
    result.class_alone = program_.info(step.result).kind == ValueKind::kTokens && Wanted(step.result) == Demand::kClass;
    // Row by row the inputs were cut already (Input); what mixes tokens is cut here. An image has one cell or more.
    if (result.class_alone && result.data.size(0) != tokens_->images()) {
      result.data = ClassTokens({result.data, tokens_});
    }
    HandOut(step.result);
  }

  void Release(Value value) {
    held_[At(value)] = {};
    products_.erase(products_.lower_bound({value.id, 0}), products_.lower_bound({value.id + 1, 0}));
  }

  struct Held {
    at::Tensor data;           // [rows, columns]; rows of padding may follow
    Maps maps;                 // of a map: images [C, H, W], or runs [B, C, H, W] of equal sizes
    bool class_alone = false;  // of tokens, the class tokens' rows
  };

  static size_t At(Value value) { return static_cast<size_t>(value.id); }
  Demand Wanted(Value value) const { return demands_[At(value)]; }
  const at::Tensor& Weight(const Operator& op, size_t i) const { return weights_[static_cast<size_t>(op.weights[i])]; }
  at::Tensor WeightOr(const Operator& op, size_t i) const {
    return i < op.weights.size() ? Weight(op, i) : at::Tensor();
  }
  const std::shared_ptr<const TokenLayout>& LayoutOf(Value value) const {
    return program_.info(value).kind == ValueKind::kTokens ? tokens_ : cells_;
  }
  PackedTokens Packed(Value value) const { return {held_[At(value)].data, LayoutOf(value)}; }

  // An input, of tokens the rows that are wanted of the result.
  at::Tensor Input(const Operator& op, size_t i) const {
    const Held& held = held_[At(op.inputs[i])];
    const bool class_alone =
        Wanted(step_->result) == Demand::kClass && program_.info(op.output).kind == ValueKind::kTokens;
    if (!class_alone || held.class_alone || program_.info(op.inputs[i]).kind != ValueKind::kTokens) return held.data;
    return ClassTokens(Packed(op.inputs[i]));
  }

  at::ScalarType TypeOf(const Operator& op, const at::Tensor& x) const {
    return plan_.operands_[At(op.output)] ? OperandType(x, context_) : at::kFloat;
  }

  void HandOut(Value value) {
    if (context_.tokens == nullptr) return;
    const auto stage = plan_.stage_of_.find(value.id);
    if (stage != plan_.stage_of_.end()) context_.HandOut(stage->second, Packed(value));
    if (value == program_.final_tokens()) context_.HandOut(TokenTap::kFinal, Packed(value));
  }

  // --- from pictures to tokens

  void Do(const Operator& op, const program::Convolve& convolve, Held& result) {
    const Held& input = held_[At(op.inputs[0])];
    if (step_->norm != nullptr) {
      const Maps maps = convolve.cut > 1 ? RunsOf(input.maps, convolve.cut) : input.maps;
      result.maps = ConvolveAndNormalize(maps, Weight(op, 0), Norm(*step_->norm), step_->gelu != nullptr, context_);
    } else if (convolve.pool > 0) {
      result.maps = {ConvolveAndPool(input.maps, Weight(op, 0), Weight(op, 1), convolve.pool, context_)};
    } else {
      result.maps =
          ConvolveImages(input.maps, Weight(op, 0), Weight(op, 1), convolve.stride, convolve.padding, context_);
    }
  }

  void Do(const Operator& op, const program::ToTokens&, Held& result) {
    const Maps& maps = held_[At(op.inputs[0])].maps;
    if (maps[0].dim() == 2) {
      result.data = maps[0];  // pixels already
    } else if (maps[0].dim() == 4) {
      result.data = PixelsOfAll(maps);
    } else {
      result.data = PlacesOf(maps);
    }
  }

  void Do(const Operator& op, const program::Patchify& patchify, Held& result) {
    result.data = PatchRows(held_[At(op.inputs[0])].maps, patchify.patch, context_);
  }

  void Do(const Operator& op, const program::TablePosition& position, Held& result) {
    const PackedTokens x = Packed(op.inputs[0]);
    result.data = AddPositions(x, x.data.size(0), [&](Grid grid) {
      return TableFor(Weight(op, 0), position.grid, grid, /*prefix_tokens=*/1, *plan_.interpolations_.at(&op));
    });
  }

  void Do(const Operator& op, const program::FourierPosition&, Held& result) {
    const PackedTokens x = Packed(op.inputs[0]);
    result.data = AddPositions(x, RowsFor(*x.layout, x.data), [&](Grid grid) {
      return AffineMap(FourierFeaturesOf(grid).to(x.data.device()), Weight(op, 0), Weight(op, 1), context_.bf16);
    });
  }

  void Do(const Operator& op, const program::ClassToken&, Held& result) {
    result.data = Weight(op, 0).expand({tokens_->images(), Weight(op, 0).size(1)});
  }

  void Do(const Operator& op, const program::JoinClass&, Held& result) {
    const at::Tensor& rows = held_[At(op.inputs[0])].data;
    result.data = Wanted(op.output) == Demand::kClass
                      ? rows
                      : JoinClassTokens(rows, {held_[At(op.inputs[1])].data, cells_}, tokens_).data;
  }

  void Do(const Operator& op, const program::TakeClass&, Held& result) {
    const Held& input = held_[At(op.inputs[0])];
    result.data = (input.class_alone ? input.data : ClassTokens(Packed(op.inputs[0]))).to(at::kFloat);
  }

  void Do(const Operator& op, const program::TakeCells&, Held& result) {
    result.data = CellTokens(Packed(op.inputs[0])).to(at::kFloat);
  }

  void Do(const Operator& op, const program::MeanTokens&, Held& result) {
    result.data = MeanOfImages(Packed(op.inputs[0]));
  }

  void Do(const Operator& op, const program::Custom& custom, Held& result) {
    result.data = RunCustom(Packed(op.inputs[0]), custom);
  }

  // --- what treats rows alone

  void Do(const Operator& op, const program::LayerNorm& norm, Held& result) {
    const at::Tensor x = Input(op, 0);
    result.data = NormalizeLayer(x, Weight(op, 0), Weight(op, 1), norm.epsilon, context_, TypeOf(op, x));
  }

  BatchNormTensors Norm(const Operator& op) const {
    const auto* norm = op.As<program::BatchNorm>();
    return {Weight(op, 0), Weight(op, 1), Weight(op, 2), Weight(op, 3), norm->epsilon, norm->momentum};
  }

  // Rows that pad must not count in the statistics of the batch.
  void Do(const Operator& op, const program::BatchNorm&, Held& result) {
    const at::Tensor& x = held_[At(op.inputs[0])].data;
    const at::Tensor rows = x.narrow(0, 0, cells_->total_tokens());
    result.data = JoinRuns({NormalizeBatch(rows, Norm(op), context_)}, x.size(0));
  }

  void Do(const Operator& op, const program::Affine&, Held& result) {
    result.data = at::addcmul(Weight(op, 1), Input(op, 0), Weight(op, 0));
  }

  void Do(const Operator& op, const program::Linear& linear, Held& result) {
    if (linear.code >= 0) {
      result.data = Coded(op, linear);
      return;
    }
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(Input(op, i));
    const at::Tensor x = inputs.size() == 1 ? inputs[0] : at::cat(inputs, 1);
    const bool part = Weight(op, 0).size(0) != linear.outputs;
    const auto rows = [&](const at::Tensor& weight) {
      return part && weight.defined() ? weight.narrow(0, linear.first_row, linear.outputs) : weight;
    };
    const at::Tensor weight = rows(Weight(op, 0)), bias = rows(WeightOr(op, 1));
    const bool bf16 = context_.bf16 && step_->result != program_.logits();
    if (step_->gelu == nullptr) {
      result.data = AffineMap(x, weight, bias, bf16, bf16 ? TypeOf(op, x) : at::kFloat);
    } else if (UsesOwnDerivatives(x, context_)) {
      result.data = Gelu(AffineMap(x, weight, bias, bf16, TypeOf(op, x)), context_);
    } else {
      result.data = AffineGelu(x, weight, bias, bf16);
    }
  }

  // W [x, code] = W_x x + W_c code: the code is the same for every token, and W_x x is computed once.
  at::Tensor Coded(const Operator& op, const program::Linear& linear) {
    const at::Tensor& weight = Weight(op, 0);
    const at::Tensor& codes = Weight(op, 2);
    const int64_t width = weight.size(1) - codes.size(1);
    at::Tensor& product = products_[{op.inputs[0].id, op.weights[0]}];
    if (!product.defined()) {
      product = AffineMap(held_[At(op.inputs[0])].data, weight.narrow(1, 0, width).contiguous(), Weight(op, 1),
                          context_.bf16);
    }
    return product + at::matmul(weight.slice(1, width), codes[linear.code]);
  }

  void Do(const Operator& op, const program::Activate& activate, Held& result) {
    const Held& input = held_[At(op.inputs[0])];
    if (program_.info(op.output).kind == ValueKind::kMap) {
      for (const at::Tensor& map : input.maps) result.maps.push_back(at::relu(map));
    } else if (activate.function == program::Activate::Function::kGelu) {
      result.data = Gelu(Input(op, 0), context_);
    } else {
      result.data = at::relu(Input(op, 0));
    }
  }

  void Do(const Operator& op, const program::Residual& residual, Held& result) {
    at::Tensor branch = Input(op, 1);
    if (residual.path >= 0) {
      const bool of_images = Wanted(op.output) == Demand::kClass;
      branch = of_images ? DropPath(branch, residual.path, context_)
                         : DropPath(PackedTokens{branch, LayoutOf(op.output)}, residual.path, context_);
    }
    result.data = AddBranch(Input(op, 0), branch, WeightOr(op, 0), context_);
  }

  void Do(const Operator& op, const program::Columns& columns, Held& result) {
    result.data = Input(op, 0).narrow(1, columns.first, columns.count);
  }
  void Do(const Operator& op, const program::Concatenate&, Held& result) {
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(Input(op, i));
    result.data = at::cat(inputs, 1);
  }
  void Do(const Operator& op, const program::Add&, Held& result) { result.data = Input(op, 0) + Input(op, 1); }

  void Do(const Operator& op, const program::Drop& drop, Held& result) {
    const DropRates& rates = context_.dropout;
    const float rate = drop.place == program::Drop::Place::kPositions    ? rates.position
                       : drop.place == program::Drop::Place::kProjection ? rates.projection
                                                                         : rates.mlp;
    result.data = Dropout(Input(op, 0), rate, drop.site, context_);
  }

  void Do(const Operator& op, const program::Constant&, Held& result) {
    const Maps& images = held_[0].maps;
    result.data = at::zeros({static_cast<int64_t>(images.size()), program_.info(op.output).columns},
                            at::TensorOptions().dtype(at::kFloat).device(images[0].device()));
  }

  // --- what mixes tokens

  // An input as [rows, heads, d_h].
  at::Tensor Heads(const Operator& op, size_t i, int heads) const {
    const at::Tensor& x = held_[At(op.inputs[i])].data;
    return x.view({-1, heads, x.size(1) / heads});
  }

  void Do(const Operator& op, const program::Attend& attend, Held& result) {
    if (attend.class_query) {
      const Held& q = held_[At(op.inputs[0])];
      const at::Tensor queries = q.class_alone ? q.data : ClassTokens(Packed(op.inputs[0]));
      result.data = AttendFromClass(queries, held_[At(op.inputs[1])].data, held_[At(op.inputs[2])].data, attend.heads,
                                    *LayoutOf(op.inputs[1]), attend.layer, attend.site, context_);
      return;
    }
    const PackedTokens x = Packed(op.inputs[0]);
    const int parts = attend.shared_key ? 2 : 3;
    const at::Tensor qkv = x.data.view({x.data.size(0), parts, attend.heads, -1});
    result.data = attend.offers_scores ? Keyed(op, attend, qkv, *x.layout)
                                       : AttendWithinImages(qkv, x.layout, attend.layer, attend.site, context_);
  }

  // KV's forms.
  at::Tensor Keyed(const Operator& op, const program::Attend& attend, const at::Tensor& qkv,
                   const TokenLayout& layout) const {
    std::optional<MapPosition> map;
    if (!op.weights.empty()) map = MapPosition{Weight(op, 0), Weight(op, 1), plan_.key_positions_.at(&op)};
    const KeyedAttention attention{attend.scale, map ? &*map : nullptr};
    const at::Tensor keys = qkv.select(1, -2), values = qkv.select(1, -1);
    return attention.Mix(attend.shared_key ? keys : qkv.select(1, 0), keys, values, layout, attend.layer, attend.site,
                         context_);
  }

  void Do(const Operator& op, const program::AttendChannels& attend, Held& result) {
    const at::Tensor& x = held_[At(op.inputs[0])].data;
    std::vector<at::Tensor> qkv = {x};
    if (op.inputs.size() == 1) {
      // NOTE: the derivative of split joins three gradients; that of narrow fills up with zeros.
      qkv = x.split(x.size(1) / 3, 1);
    } else {
      for (size_t i = 1; i < op.inputs.size(); ++i) qkv.push_back(held_[At(op.inputs[i])].data);
    }
    for (at::Tensor& part : qkv) part = part.to(qkv[0].scalar_type());
    result.data = AttendChannels({qkv[0], qkv[1], qkv[2]}, Weight(op, 0), LayoutOf(op.inputs[0]), attend.layer,
                                 attend.site, context_);
  }

  void Do(const Operator& op, const program::AttendLinearly& attend, Held& result) {
    const LinearAttention attention{Weight(op, 0), Weight(op, 1), attend.over_values};
    const Value tokens = op.inputs.back();
    const at::Tensor& x = held_[At(tokens)].data;
    const int64_t parts = attend.class_query ? 2 : 3;
    const at::Tensor all = x.view({-1, parts, attend.heads, x.size(1) / parts / attend.heads});
    const at::Tensor k = all.select(1, -2), v = all.select(1, -1);
    result.data = attend.class_query ? attention.OfClassTokens(Heads(op, 0, attend.heads), k, v, *LayoutOf(tokens),
                                                               attend.layer, attend.site, context_)
                                     : attention.OfTokens(all.select(1, 0), k, v, LayoutOf(tokens), attend.layer,
                                                          attend.site, context_);
  }

  void Do(const Operator& op, const program::ConvolveGrid& convolve, Held& result) {
    const bool class_alone = Wanted(step_->result) == Demand::kClass;
    const PackedTokens x = Packed(op.inputs[0]);
    if (class_alone) {  // class tokens pass
      result.data = Input(op, 0);
    } else if (!convolve.depthwise) {
      result.data = ConvolveGrids(x, Weight(op, 0), context_);
    } else if (step_->norm == nullptr) {
      result.data = ConvolveDepthwise(x, Weight(op, 0), Weight(op, 1), context_);
    } else if (!context_.training) {
      const BatchNormTensors norm = Norm(*step_->norm);
      result.data = ConvolveDepthwiseGelu(x, Weight(op, 0), Weight(op, 1), norm.Scale(), norm.Shift(), context_);
    } else {
      const PackedTokens rows{x.data.narrow(0, 0, x.layout->total_tokens()), x.layout};
      const at::Tensor convolved = ConvolveDepthwise(rows, Weight(op, 0), Weight(op, 1), context_);
      const at::Tensor normalized = NormalizeBatch(Gelu(convolved, context_), Norm(*step_->norm), context_);
      result.data = JoinRuns({normalized}, x.data.size(0));
    }
  }

  const Interpreter& plan_;
  const program::Program& program_;
  const std::vector<at::Tensor>& weights_;
  const ForwardContext& context_;
  const std::vector<Demand> demands_;
  std::vector<Held> held_;
  const OperatorStep* step_ = nullptr;
  std::shared_ptr<const TokenLayout> cells_;
  std::shared_ptr<const TokenLayout> tokens_;
  std::map<std::pair<int, int>, at::Tensor> products_;  // of F-SNE's first layer, by value and weight
};

Interpreter::Interpreter(const program::Program& program)
    : program_(program),
      operands_(OperandsOf(program)),
      steps_(StepsOf(program)),
      demands_(program::DemandOf(program, program::ResultsOfRun(program))),
      last_read_(LastRead(program, steps_)) {
  for (size_t i = 0; i < program.stages().size(); ++i) stage_of_[program.stages()[i].id] = static_cast<int>(i);
  for (const Operator& op : program.operators()) {
    if (const auto* position = op.As<program::TablePosition>()) {
      interpolations_[&op] = std::make_unique<GridInterpolations>(position->grid);
    } else if (op.As<program::Attend>() != nullptr && !op.weights.empty()) {
      const int64_t channels = program.weights()[static_cast<size_t>(op.weights[0])].shape[0];
      key_positions_[&op] = KeyPositions(1 + program.table().cells(), channels);
    }
  }
}

std::vector<Demand> Interpreter::DemandFor(const ForwardContext& context) const {
  if (context.tokens == nullptr) return demands_;
  std::vector<Value> results = program::ResultsOfRun(program_);
  for (size_t i = 0; i < program_.stages().size(); ++i) {
    if (context.WantsTokens(static_cast<int>(i))) results.push_back(program_.stages()[i]);
  }
  const Value final_tokens = program_.final_tokens();
  if (final_tokens.id >= 0 && context.WantsTokens(TokenTap::kFinal)) results.push_back(final_tokens);
  return program::DemandOf(program_, results);
}

at::Tensor Interpreter::Run(const std::vector<at::Tensor>& weights, const ImageBatch& images,
                            const ForwardContext& context) const {
  return Pass(*this, weights, images, context).Run();
}

}  // namespace vitrine
