// SPDX-License-Identifier: Apache-2.0
#include "models/layers/feed_forward.h"

#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"

namespace vitrine {

FeedForward::FeedForward(int width, int hidden, double norm_epsilon, Initializer& initializer, Linear::Init init)
    : norm_(width, norm_epsilon, initializer),
      fc1_(width, hidden, /*bias=*/true, initializer, init),
      fc2_(hidden, width, /*bias=*/true, initializer, init) {
  RegisterChild("norm", norm_);
  RegisterChild("fc1", fc1_);
  RegisterChild("fc2", fc2_);
}

at::Tensor FeedForward::Forward(const PackedTokens& x, int site, const ForwardContext& context) const {
  const at::Tensor transformed = Transform(norm_.ForwardOperand(x.data, context), site, context);
  return AddBranch(x.data, DropPath({transformed, x.layout}, site, context), {}, context);
}

at::Tensor FeedForward::Transform(const at::Tensor& x, int site, const ForwardContext& context) const {
  const float rate = context.dropout.mlp;
  const at::Tensor hidden = Dropout(fc1_.ForwardGelu(x, context), rate, site, context);  // [T, hidden]
  return Dropout(fc2_.ForwardOperand(hidden, context), rate, site + 1, context);
}

}  // namespace vitrine
