// SPDX-License-Identifier: Apache-2.0
#include "models/modules/eit_parts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "absl/strings/str_cat.h"
#include "models/families/input.h"
#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"
#include "models/layers/patches.h"
#include "models/layers/token_sequence.h"
#include "models/modules/modules.h"

namespace vitrine {

SplitBlock::SplitBlock(const Form& form, Initializer& initializer)
    : form_(form),
      norm_(form.width, kEitNormEpsilon, initializer),
      feed_forward_(form.width, form.mlp_width, kEitNormEpsilon, initializer) {
  RegisterChild("norm", norm_);
  const int convolved = form.parallel ? form.width : form.width - form.attended;
  if (convolved > 0) {
    convolution_ = std::make_unique<ConvolutionBranch>(convolved, form.branch, initializer);
    RegisterChild("convolution", *convolution_);
  }
  attention_ = std::make_unique<SelfAttention>(form.attended, form.heads, initializer);
  RegisterChild("attention", *attention_);
  RegisterChild("feed_forward", feed_forward_);
}

PackedTokens SplitBlock::Forward(PackedTokens x, int layer, const ForwardContext& context) const {
  const at::Tensor u = norm_.ForwardOperand(x.data, context);   // u = LN1(x), [T, C]
  const at::Tensor mixed = Mix({u, x.layout}, layer, context);  // [conv(u_1..c), attn(u_c+1..C)]
  const at::Tensor kept = DropPath(PackedTokens{mixed, x.layout}, layer * kEitSitesPerBlock + 2, context);
  x.data = AddBranch(x.data, kept, {}, context);
  x.data = feed_forward_.Forward(x, layer * kEitSitesPerBlock, context);  // x + MLP(LN2(x))
  return x;
}

at::Tensor SplitBlock::Mix(const PackedTokens& u, int layer, const ForwardContext& context) const {
  const int site = layer * kEitSitesPerBlock + 2;
  if (convolution_ == nullptr) return attention_->Forward(u, layer, site, context);
  if (form_.parallel) return attention_->Forward(u, layer, site, context) + convolution_->Mix(u, context);
  const std::vector<at::Tensor> parts = u.data.split_with_sizes({form_.width - form_.attended, form_.attended}, 1);
  const at::Tensor branch = convolution_->Mix({parts[0], u.layout}, context);                    // [T, c]
  return at::cat({branch, attention_->Forward({parts[1], u.layout}, layer, site, context)}, 1);  // [T, C]
}

EitFrame::EitFrame(const v1::ModelConfig& model, Parts parts, Initializer& initializer)
    : Model(model),
      parts_(std::move(parts)),
      norm_(parts_.width, kEitNormEpsilon, initializer),
      head_(parts_.width, model.classes(), /*bias=*/true, initializer) {
  RegisterParameter("class_token", class_token_, initializer.TruncatedNormal({1, parts_.width}, 0.02));
  RegisterChild("patches", *parts_.patches.layer);
  if (parts_.table.has_value()) {
    positions_ = std::make_unique<PositionTable>(
        *parts_.table, 1, initializer.TruncatedNormal({1 + parts_.table->cells(), parts_.width}, 0.02));
    RegisterChild("positions", *positions_);
  }
  for (size_t i = 0; i < parts_.blocks.size(); ++i) RegisterChild(absl::StrCat("blocks.", i), *parts_.blocks[i]);
  RegisterChild("norm", norm_);
  RegisterChild("head", head_);
}

at::Tensor EitFrame::Forward(const ImageBatch& images, const ForwardContext& context) const {
  const int depth = static_cast<int>(parts_.blocks.size());
  PackedTokens x = WithClassToken(parts_.patches.embed(images, context), GridsOf(images, cell()), class_token_,
                                  positions_.get());  // [T, C]
  x.data = Dropout(x.data, context.dropout.position, depth * kEitSitesPerBlock, context);
  for (int i = 0; i < depth; ++i) {
    x = parts_.blocks[i]->Forward(x, i, context);
    context.HandOut(i, x);
  }
  if (context.WantsTokens(TokenTap::kFinal))
    context.HandOut(TokenTap::kFinal, {norm_.Forward(x.data, context), x.layout});
  return head_.Forward(norm_.Forward(ClassTokens(x), context));  // [images, classes]
}

absl::StatusOr<Grid> EitFrame::GridFor(int height, int width) const {
  return GridOfInput(config().preprocessing(), cell(), height, width);
}

AttentionAbility EitFrame::attention() const {
  return TokenAttention(parts_.kinds, static_cast<int>(parts_.blocks.size()), parts_.heads, *this);
}

FeatureAbility EitFrame::features() const {
  return {{v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}, parts_.width};
}

}  // namespace vitrine
