// SPDX-License-Identifier: Apache-2.0
#include "models/layers/convolution_branch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>

#include <numeric>

#include "models/layers/elementwise.h"

namespace vitrine {
namespace {

// The rows of the grids' tokens: [cells of all images].
at::Tensor GridRows(const TokenLayout& layout) {
  int64_t cells = 0;
  for (int image = 0; image < layout.images(); ++image) cells += layout.grid(image).cells();
  at::Tensor rows = at::empty({cells}, at::kLong);
  int64_t* next = rows.data_ptr<int64_t>();
  for (int image = 0; image < layout.images(); ++image) {
    const int64_t count = layout.grid(image).cells();
    std::iota(next, next + count, layout.offset(image) + layout.prefix_tokens());
    next += count;
  }
  return rows;
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
  const PackedTokens x{tokens.data.to(at::kFloat), tokens.layout};
  const at::Tensor rows = GridRows(*x.layout).to(x.data.device());
  at::Tensor cells;
  if (form_ == Form::kBnRelu) {
    cells = at::relu(batch_norm_->Forward(Forward(x, context).index_select(0, rows), context));
  } else {
    cells = OnGrid(x, context).index_select(0, rows);
  }
  return x.data.index_copy(0, rows, cells.to(at::kFloat));
}

at::Tensor ConvolutionBranch::OnGrid(const PackedTokens& x, const ForwardContext& context) const {
  if (form_ == Form::kGeluConv) return Forward({linear_->ForwardGelu(x.data, context), x.layout}, context);
  return linear_->Forward(Forward({Gelu(x.data, context), x.layout}, context), context.bf16);
}

}  // namespace vitrine
