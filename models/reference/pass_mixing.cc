// SPDX-License-Identifier: Apache-2.0
// Operators that mix tokens.
#include <ATen/TensorOperators.h>

#include <optional>

#include "models/reference/operators/attention/attention.h"
#include "models/reference/operators/attention/class_attention.h"
#include "models/reference/operators/attention/cross_covariance_attention.h"
#include "models/reference/operators/attention/kv_attention.h"
#include "models/reference/operators/attention/map_position.h"
#include "models/reference/operators/attention/x_attention.h"
#include "models/reference/operators/convolution/depthwise_convolution.h"
#include "models/reference/operators/convolution/grid_convolution.h"
#include "models/reference/operators/elementwise.h"
#include "models/reference/operators/token_sequence.h"
#include "models/reference/pass.h"

namespace vitrine {

using program::Demand;
using program::Operator;
using program::Value;

at::Tensor Interpreter::Pass::Heads(const Operator& op, size_t i, int heads) const {
  const at::Tensor& x = held_[At(op.inputs[i])].data;
  return x.view({-1, heads, x.size(1) / heads});
}

void Interpreter::Pass::Do(const Operator& op, const program::Attend& attend, Held& result) {
  if (attend.class_query) {
    const Held& q = held_[At(op.inputs[0])];
    const at::Tensor queries = q.class_alone ? q.data : PrefixTokens(Packed(op.inputs[0]), 0);
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

at::Tensor Interpreter::Pass::Keyed(const Operator& op, const program::Attend& attend, const at::Tensor& qkv,
                                    const TokenLayout& layout) const {
  std::optional<MapPosition> map;
  if (!op.weights.empty()) map = MapPosition{Weight(op, 0), Weight(op, 1), plan_.key_positions_.at(&op)};
  const KeyedAttention attention{attend.scale, map ? &*map : nullptr};
  const at::Tensor keys = qkv.select(1, -2), values = qkv.select(1, -1);
  return attention.Mix(attend.shared_key ? keys : qkv.select(1, 0), keys, values, layout, attend.layer, attend.site,
                       context_);
}

void Interpreter::Pass::Do(const Operator& op, const program::AttendChannels& attend, Held& result) {
  const at::Tensor& x = held_[At(op.inputs[0])].data;
  std::vector<at::Tensor> qkv = {x};
  if (op.inputs.size() == 1) {
    // NOTE: split is faster in training than three calls of narrow: its derivative joins the three gradients, whereas
    // the derivative of narrow pads each gradient with zeros.
    qkv = x.split(x.size(1) / 3, 1);
  } else {
    for (size_t i = 1; i < op.inputs.size(); ++i) qkv.push_back(held_[At(op.inputs[i])].data);
  }
  for (at::Tensor& part : qkv) {
    if (part.scalar_type() != x.scalar_type()) part = part.to(x.scalar_type());
  }
  result.data = AttendChannels({qkv[0], qkv[1], qkv[2]}, Weight(op, 0), LayoutOf(op.inputs[0]), attend.layer,
                               attend.site, context_);
}

void Interpreter::Pass::Do(const Operator& op, const program::AttendLinearly& attend, Held& result) {
  const LinearAttention attention{Weight(op, 0), Weight(op, 1), attend.norm};
  const Value tokens = op.inputs.back();
  const at::Tensor& x = held_[At(tokens)].data;
  const int64_t parts = attend.class_query ? 2 : 3;
  const at::Tensor all = x.view({-1, parts, attend.heads, x.size(1) / parts / attend.heads});
  const at::Tensor k = all.select(1, -2), v = all.select(1, -1);
  result.data = attend.class_query
                    ? attention.OfClassTokens(Heads(op, 0, attend.heads), k, v, *LayoutOf(tokens), attend.layer,
                                              attend.site, context_)
                    : attention.OfTokens(all.select(1, 0), k, v, LayoutOf(tokens), attend.layer, attend.site, context_);
}

void Interpreter::Pass::Do(const Operator& op, const program::ConvolveGrid& convolve, Held& result) {
  const bool class_alone = Wanted(step_->result) == Demand::kClass;
  const PackedTokens x = Packed(op.inputs[0]);
  if (class_alone) {  // class tokens pass through
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

}  // namespace vitrine
