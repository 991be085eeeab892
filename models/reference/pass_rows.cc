// SPDX-License-Identifier: Apache-2.0
// Operators on single rows.
#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "models/program/builder.h"
#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/dropout.h"
#include "models/reference/operators/elementwise.h"
#include "models/reference/operators/gemm.h"
#include "models/reference/operators/layer_norm.h"
#include "models/reference/operators/token_sequence.h"
#include "models/reference/pass.h"

namespace vitrine {

using program::Demand;
using program::Operator;
using program::ValueKind;

namespace {

// Returns the context of a block, with the block's probability of stochastic depth.
ForwardContext AtBlock(ForwardContext context, int block, int blocks) {
  if (context.drop_path_by_depth)
    context.drop_path *= static_cast<float>(block) / static_cast<float>(std::max(1, blocks - 1));
  return context;
}

}  // namespace

void Interpreter::Pass::Do(const Operator& op, const program::LayerNorm& norm, Held& result) {
  const at::Tensor x = Input(op, 0);
  result.data = NormalizeLayer(x, Weight(op, 0), Weight(op, 1), norm.epsilon, context_, TypeOf(op, x));
}

BatchNormTensors Interpreter::Pass::Norm(const Operator& op) const {
  const auto* norm = op.As<program::BatchNorm>();
  return {Weight(op, 0), Weight(op, 1), Weight(op, 2), Weight(op, 3), norm->epsilon, norm->momentum};
}

void Interpreter::Pass::Do(const Operator& op, const program::BatchNorm&, Held& result) {
  const at::Tensor& x = held_[At(op.inputs[0])].data;
  const at::Tensor rows = x.narrow(0, 0, cells_->total_tokens());
  result.data = JoinRuns({NormalizeBatch(rows, Norm(op), context_)}, x.size(0));
}

void Interpreter::Pass::Do(const Operator& op, const program::Affine&, Held& result) {
  result.data = at::addcmul(Weight(op, 1), Input(op, 0), Weight(op, 0));
}

void Interpreter::Pass::Do(const Operator& op, const program::Linear& linear, Held& result) {
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
  } else if (UsesOwnGradients(x, context_)) {
    result.data = Gelu(AffineMap(x, weight, bias, bf16, TypeOf(op, x)), context_);
  } else {
    result.data = AffineGelu(x, weight, bias, bf16);
  }
}

at::Tensor Interpreter::Pass::Coded(const Operator& op, const program::Linear& linear) {
  const at::Tensor& weight = Weight(op, 0);
  const at::Tensor& codes = Weight(op, 2);
  const int64_t width = weight.size(1) - codes.size(1);
  at::Tensor& product = products_[{op.inputs[0].id, op.weights[0]}];
  if (!product.defined()) {
    product =
        AffineMap(held_[At(op.inputs[0])].data, weight.narrow(1, 0, width).contiguous(), Weight(op, 1), context_.bf16);
  }
  return product + at::matmul(weight.slice(1, width), codes[linear.code]);
}

void Interpreter::Pass::Do(const Operator& op, const program::Activate& activate, Held& result) {
  const Held& input = held_[At(op.inputs[0])];
  if (program_.info(op.output).kind == ValueKind::kMap) {
    for (const at::Tensor& map : input.maps) result.maps.push_back(at::relu(map));
  } else if (activate.function == program::Activate::Function::kGelu) {
    result.data = Gelu(Input(op, 0), context_);
  } else if (activate.function == program::Activate::Function::kQuickGelu) {
    const at::Tensor x = Input(op, 0);
    result.data = x * at::sigmoid(x * 1.702);
  } else {
    result.data = at::relu(Input(op, 0));
  }
}

void Interpreter::Pass::Do(const Operator& op, const program::UnitLength&, Held& result) {
  const at::Tensor x = Input(op, 0);
  result.data = x / (at::sqrt(at::sum(x * x, {-1}, /*keepdim=*/true)) + program::kUnitLengthEpsilon);
}

void Interpreter::Pass::Do(const Operator& op, const program::Residual& residual, Held& result) {
  at::Tensor branch = Input(op, 1);
  if (residual.path >= 0) {
    const bool of_images = Wanted(op.output) == Demand::kClass;
    const ForwardContext context =
        AtBlock(context_, residual.path / program::Builder::kSitesPerBlock, static_cast<int>(program_.stages().size()));
    branch = of_images ? DropPath(branch, residual.path, context)
                       : DropPath(PackedTokens{branch, LayoutOf(op.output)}, residual.path, context);
  }
  result.data = AddBranch(Input(op, 0), branch, WeightOr(op, 0), context_);
}

void Interpreter::Pass::Do(const Operator& op, const program::Columns& columns, Held& result) {
  result.data = Input(op, 0).narrow(1, columns.first, columns.count);
}

void Interpreter::Pass::Do(const Operator& op, const program::Concatenate&, Held& result) {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(Input(op, i));
  result.data = at::cat(inputs, 1);
}

void Interpreter::Pass::Do(const Operator& op, const program::Drop& drop, Held& result) {
  const DropRates& rates = context_.dropout;
  const float rate = drop.place == program::Drop::Place::kPositions    ? rates.position
                     : drop.place == program::Drop::Place::kProjection ? rates.projection
                                                                       : rates.mlp;
  result.data = Dropout(Input(op, 0), rate, drop.site, context_);
}

void Interpreter::Pass::Do(const Operator& op, const program::Constant&, Held& result) {
  const Maps& images = held_[0].maps;
  result.data = at::zeros({static_cast<int64_t>(images.size()), program_.info(op.output).columns},
                          at::TensorOptions().dtype(at::kFloat).device(images[0].device()));
}

void Interpreter::Pass::Do(const Operator& op, const program::Add& add, Held& result) {
  result.data = Input(op, 0) + Input(op, 1);
  if (add.scale != 1) result.data = result.data * add.scale;
}

}  // namespace vitrine
