// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/block.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/relu.h>

#include "absl/strings/str_cat.h"
#include "models/reference/operators/dropout.h"

namespace vitrine::sequences {
namespace {

using v1::SequenceConfig;

// Dropout sites within a block.
enum Site { kWeights, kAttention, kSourceWeights, kSourceAttention, kHidden, kFeedForward };

// Adds f(x) to x, with dropout of f(x) at `rate`. `f` maps [B, n, width] to the same shape.
template <typename F>
at::Tensor Residual(const at::Tensor& x, const LayerNorm& norm, SequenceConfig::Norm placement, int site, float rate,
                    const ForwardContext& context, const F& f) {
  const auto branch = [&](const at::Tensor& y) { return DropPath(Dropout(f(y), rate, site, context), site, context); };
  if (placement == SequenceConfig::POST) return norm.Forward(x + branch(x));  // LN(x + f(x))
  const at::Tensor normalised = norm.Forward(x);
  // NOTE: with PRE_NORMALISED, as in the published number model, the residual connection adds LN(x) instead of x.
  const at::Tensor& base = placement == SequenceConfig::PRE_NORMALISED ? normalised : x;
  return base + branch(normalised);  // x + f(LN(x)), or LN(x) + f(LN(x))
}

}  // namespace

ReluFeedForward::ReluFeedForward(const SequenceConfig& config, Initializer& initializer)
    : drop_hidden_(Drops(config, SequenceConfig::HIDDEN_LAYER)),
      fc1_(config.width(), config.mlp_width(), /*bias=*/true, XavierBlocks(config.initial()), initializer),
      fc2_(config.mlp_width(), config.width(), /*bias=*/true, XavierBlocks(config.initial()), initializer) {
  RegisterChild("fc1", fc1_);
  RegisterChild("fc2", fc2_);
}

at::Tensor ReluFeedForward::Forward(const at::Tensor& x, int site, const ForwardContext& context) const {
  at::Tensor hidden = at::relu(OnElements(fc1_, x, context));  // [B, n, mlp_width]
  // Dropout before ReLU gives the same values as dropout after ReLU, since dropout multiplies by zero or a positive
  // number.
  if (drop_hidden_) hidden = Dropout(hidden, context.dropout.mlp, site, context);
  return OnElements(fc2_, hidden, context);
}

SequenceBlock::SequenceBlock(const SequenceConfig& config, bool decoder, Initializer& initializer)
    : placement_(config.norm()),
      attention_norm_(config.width(), kNormEpsilon, initializer),
      attention_(config, initializer),
      feed_forward_norm_(config.width(), kNormEpsilon, initializer),
      feed_forward_(config, initializer) {
  RegisterChild("attention_norm", attention_norm_);
  RegisterChild("attention", attention_);
  if (decoder) {
    source_norm_.emplace(config.width(), kNormEpsilon, initializer);
    source_attention_.emplace(config, initializer);
    RegisterChild("source_norm", *source_norm_);
    RegisterChild("source_attention", *source_attention_);
  }
  RegisterChild("feed_forward_norm", feed_forward_norm_);
  RegisterChild("feed_forward", feed_forward_);
}

at::Tensor SequenceBlock::Forward(at::Tensor x, const at::Tensor& mask, const Source* source, Place place,
                                  const ForwardContext& context) const {
  const float projection = context.dropout.projection;
  x = Residual(x, attention_norm_, placement_, place.site + kAttention, projection, context, [&](const at::Tensor& y) {
    return attention_.Forward(y, mask, {place.layer, place.site + kWeights}, context);
  });
  if (source_attention_) {
    x = Residual(x, *source_norm_, placement_, place.site + kSourceAttention, projection, context,
                 [&](const at::Tensor& y) {
                   return source_attention_->Forward(y, source->elements, source->mask,
                                                     {source->layer, place.site + kSourceWeights}, context);
                 });
  }
  return Residual(x, feed_forward_norm_, placement_, place.site + kFeedForward, context.dropout.mlp, context,
                  [&](const at::Tensor& y) { return feed_forward_.Forward(y, place.site + kHidden, context); });
}

BlockStack::BlockStack(const SequenceConfig& config, bool decoder, Initializer& initializer) {
  for (int i = 0; i < config.depth(); ++i) {
    blocks_.push_back(std::make_unique<SequenceBlock>(config, decoder, initializer));
    RegisterChild(absl::StrCat("blocks.", i), *blocks_.back());
  }
  if (config.norm() == SequenceConfig::POST) return;
  norm_.emplace(config.width(), kNormEpsilon, initializer);
  RegisterChild("norm", *norm_);
}

at::Tensor BlockStack::Forward(at::Tensor x, const at::Tensor& mask, const Source* source, Place first,
                               const ForwardContext& context) const {
  Source seen = source != nullptr ? *source : Source{};
  for (const auto& block : blocks_) {
    x = block->Forward(std::move(x), mask, &seen, first, context);
    ++first.layer;
    ++seen.layer;
    first.site += Place::kSites;
  }
  return norm_ ? norm_->Forward(x) : x;
}

}  // namespace vitrine::sequences
