// SPDX-License-Identifier: Apache-2.0
#include "models/layers/convolution_branch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/relu.h>

#include <utility>
#include <vector>

#include "models/layers/elementwise.h"
#include "models/layers/token_sequence.h"

namespace vitrine {
namespace {

// The tokens of the grids alone.
PackedTokens CellsOf(const PackedTokens& x) {
  std::vector<Grid> grids;
  for (int image = 0; image < x.layout->images(); ++image) grids.push_back(x.layout->grid(image));
  return {CellTokens(x), TokenLayout::Make(std::move(grids), /*prefix_tokens=*/0)};
}

}  // namespace

ConvolutionBranch::ConvolutionBranch(int channels, Form form, Initializer& initializer)
    : GridConvolution(channels, initializer), form_(form) {
  if (form == Form::kConvConv) {
    second_ = std::make_unique<GridConvolution>(channels, initializer);
    third_ = std::make_unique<GridConvolution>(channels, initializer);
    RegisterChild("second", *second_);
    RegisterChild("third", *third_);
  }
  if (form == Form::kGeluConv || form == Form::kGeluConvLinear) {
    linear_ = std::make_unique<Linear>(channels, channels, /*bias=*/true, initializer);
    RegisterChild("linear", *linear_);
  }
  if (form == Form::kBnRelu) {
    batch_norm_ = std::make_unique<BatchNorm>(channels, initializer);
    RegisterChild("batch_norm", *batch_norm_);
  }
}

at::Tensor ConvolutionBranch::Mix(const PackedTokens& tokens, const ForwardContext& context) const {
  if (form_ == Form::kConv) return Forward(tokens, context);
  if (form_ == Form::kConvConv) {
    const PackedTokens twice{second_->Forward({Forward(tokens, context), tokens.layout}, context), tokens.layout};
    return third_->Forward(twice, context);
  }
  const at::Tensor x = tokens.data.to(at::kFloat);
  const at::Tensor cells = OnGrid(CellsOf({x, tokens.layout}), context).to(at::kFloat);
  return x.index_copy(0, CellRows(*tokens.layout).to(x.device()), cells);
}

at::Tensor ConvolutionBranch::OnGrid(const PackedTokens& cells, const ForwardContext& context) const {
  if (form_ == Form::kBnRelu) return at::relu(batch_norm_->Forward(Forward(cells, context), context));
  if (form_ == Form::kGeluConv) return Forward({linear_->ForwardGelu(cells.data, context), cells.layout}, context);
  return linear_->Forward(Forward({Gelu(cells.data, context), cells.layout}, context), context.bf16);
}

}  // namespace vitrine
