// SPDX-License-Identifier: Apache-2.0
// X-ViT: XCiT's frame around attention without softmax, whose cost is linear in the tokens (the workshop form of
// UFO-ViT).
#include <ATen/TensorOperators.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/input.h"
#include "models/families/stem_config.h"
#include "models/layers/affine.h"
#include "models/layers/convolution_stem.h"
#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"
#include "models/layers/feed_forward.h"
#include "models/layers/fourier_positions.h"
#include "models/layers/local_patch_interaction.h"
#include "models/layers/patches.h"
#include "models/layers/token_sequence.h"
#include "models/layers/x_attention.h"
#include "models/modules/modules.h"

namespace vitrine {
namespace {

constexpr double kNormEpsilon = 1e-6;
// Places for dropout in a block; the positions use one beyond the last block.
constexpr int kSitesPerBlock = 4;

double InitialScale(const v1::XVitConfig& xvit) {
  return xvit.affine_scale() == 0 ? 1 : xvit.affine_scale();
}

// Every module's output goes through an affine layer before its residual.
class XVitBlock : public Module {
 public:
  XVitBlock(const v1::XVitConfig& xvit, Initializer& initializer)
      : norm_(xvit.width(), kNormEpsilon, initializer),
        attention_(xvit, initializer),
        attention_affine_(xvit.width(), InitialScale(xvit), initializer),
        local_(xvit.width(), kNormEpsilon, initializer),
        local_affine_(xvit.width(), InitialScale(xvit), initializer),
        feed_forward_(xvit.width(), xvit.mlp_width(), kNormEpsilon, initializer),
        feed_forward_affine_(xvit.width(), InitialScale(xvit), initializer) {
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("attention_affine", attention_affine_);
    RegisterChild("local", local_);
    RegisterChild("local_affine", local_affine_);
    RegisterChild("feed_forward", feed_forward_);
    RegisterChild("feed_forward_affine", feed_forward_affine_);
  }

  PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const {
    const int site = layer * kSitesPerBlock;
    const auto add = [&](const at::Tensor& branch, int place) {
      x.data = AddBranch(x.data, DropPath(PackedTokens{branch, x.layout}, place, context), {}, context);
    };
    const PackedTokens u{norm_.ForwardOperand(x.data, context), x.layout};
    add(attention_affine_.Forward(attention_.Forward(u, layer, site + 2, context)), site + 2);  // x + A1(XA(LN(x)))
    add(local_affine_.Forward(local_.Forward(x, context)), site + 1);                           // x + A2(LPI(LN(x)))
    const at::Tensor normalized = feed_forward_.norm().ForwardOperand(x.data, context);
    add(feed_forward_affine_.Forward(feed_forward_.Transform(normalized, site, context)), site);  // x + A3(FFN(LN(x)))
    return x;
  }

 private:
  LayerNorm norm_;
  XAttention attention_;
  Affine attention_affine_;
  LocalPatchInteraction local_;
  Affine local_affine_;
  FeedForward feed_forward_;
  Affine feed_forward_affine_;
};

// The class token gathers from all tokens; the patch tokens stay (CaiT). Drop path leaves it alone, as in XCiT.
class XVitClassBlock : public Module {
 public:
  XVitClassBlock(const v1::XVitConfig& xvit, Initializer& initializer)
      : norm_(xvit.width(), kNormEpsilon, initializer),
        attention_(xvit, initializer),
        attention_affine_(xvit.width(), InitialScale(xvit), initializer),
        feed_forward_(xvit.width(), xvit.mlp_width(), kNormEpsilon, initializer),
        feed_forward_affine_(xvit.width(), InitialScale(xvit), initializer) {
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("attention_affine", attention_affine_);
    RegisterChild("feed_forward", feed_forward_);
    RegisterChild("feed_forward_affine", feed_forward_affine_);
  }

  // x has the class tokens before the patches. `site` is the block's first place for dropout. Returns the class tokens,
  // [images, width].
  at::Tensor Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const {
    const PackedTokens u{norm_.Forward(x.data, context), x.layout};
    const at::Tensor attended = attention_.ForClassTokens(ClassTokens(u), u, layer, site + 2, context);
    const at::Tensor c = AddBranch(ClassTokens(x), attention_affine_.Forward(attended), {}, context);
    const at::Tensor transformed =
        feed_forward_.Transform(feed_forward_.norm().ForwardOperand(c, context), site, context);
    return AddBranch(c, feed_forward_affine_.Forward(transformed), {}, context);
  }

 private:
  LayerNorm norm_;
  XAttention attention_;
  Affine attention_affine_;
  FeedForward feed_forward_;
  Affine feed_forward_affine_;
};

class XVit : public Model {
 public:
  XVit(const v1::ModelConfig& model, Initializer& initializer)
      : Model(model),
        settings_(model.xvit()),
        stem_(model.preprocessing().channels(), settings_.patch(), settings_.width(), initializer),
        positions_(settings_.width(), initializer),
        norm_(settings_.width(), kNormEpsilon, initializer),
        head_(settings_.width(), model.classes(), /*bias=*/true, initializer) {
    RegisterParameter("class_token", class_token_, initializer.TruncatedNormal({1, settings_.width()}, 0.02));
    RegisterChild("stem", stem_);
    RegisterChild("positions", positions_);
    for (int i = 0; i < settings_.depth(); ++i) {
      blocks_.push_back(std::make_unique<XVitBlock>(settings_, initializer));
      RegisterChild(absl::StrCat("blocks.", i), *blocks_.back());
    }
    for (int i = 0; i < settings_.class_depth(); ++i) {
      class_blocks_.push_back(std::make_unique<XVitClassBlock>(settings_, initializer));
      RegisterChild(absl::StrCat("class_blocks.", i), *class_blocks_.back());
    }
    RegisterChild("norm", norm_);
    RegisterChild("head", head_);
  }

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override {
    const std::vector<Grid> grids = GridsOf(images, cell());
    PackedTokens x = positions_.Add(stem_.Forward(images, context), grids, context);  // [T, d]
    x.data = Dropout(x.data, context.dropout.position, (settings_.depth() + settings_.class_depth()) * kSitesPerBlock,
                     context);
    for (int i = 0; i < settings_.depth(); ++i) {
      x = blocks_[i]->Forward(x, i, context);
      context.HandOut(i, x);
    }
    const auto layout = TokenLayout::Make(grids, /*prefix_tokens=*/1);
    const auto cells = x.layout;
    at::Tensor c = class_token_.expand({layout->images(), settings_.width()});  // [images, d]
    x = JoinClassTokens(c, x, layout);
    for (int i = 0; i < settings_.class_depth(); ++i) {
      const int stage = settings_.depth() + i;
      c = class_blocks_[i]->Forward(x, i, stage * kSitesPerBlock, context);
      const bool watched = context.WantsTokens(stage) || context.WantsTokens(TokenTap::kFinal);
      if (i + 1 == settings_.class_depth() && !watched) return head_.Forward(norm_.Forward(c, context));
      x = JoinClassTokens(c, {CellTokens(x), cells}, layout);
      context.HandOut(stage, x);
    }
    x.data = norm_.Forward(x.data, context);
    context.HandOut(TokenTap::kFinal, x);
    return head_.Forward(ClassTokens(x));  // [images, classes]
  }

  absl::StatusOr<Grid> GridFor(int height, int width) const override {
    return GridOfInput(config().preprocessing(), cell(), height, width);
  }
  int cell() const override { return settings_.patch(); }
  int prefix_tokens() const override { return 1; }
  AttentionAbility attention() const override {
    AttentionAbility ability{.offers = {}, .prefix_tokens = 0, .cell = cell(), .channels = 0, .diverging = true};
    for (const v1::AttentionKind kind : {v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE}) {
      ability.offers.push_back({kind, AttentionSource::kTokens, settings_.depth(), settings_.heads()});
    }
    ability.offers.push_back(
        {v1::CLASS_ATTENTION, AttentionSource::kClassQuery, settings_.class_depth(), settings_.heads()});
    return ability;
  }
  FeatureAbility features() const override {
    return {{v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}, settings_.width()};
  }

 private:
  const v1::XVitConfig settings_;
  ConvolutionStem stem_;
  FourierPositions positions_;
  at::Tensor class_token_;
  std::vector<std::unique_ptr<XVitBlock>> blocks_;
  std::vector<std::unique_ptr<XVitClassBlock>> class_blocks_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Model> MakeXVit(const v1::ModelConfig& config, Initializer& initializer) {
  return std::make_unique<XVit>(config, initializer);
}

}  // namespace vitrine
