// SPDX-License-Identifier: Apache-2.0
// XCiT (El-Nouby et al. 2021) and its QKV embeddings: attention between channels instead of tokens, so that the cost is
// linear in the tokens; the class token joins only for the last blocks.
#include <ATen/TensorOperators.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/input.h"
#include "models/families/stem_config.h"
#include "models/layers/class_attention.h"
#include "models/layers/convolution_stem.h"
#include "models/layers/cross_covariance_attention.h"
#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"
#include "models/layers/feed_forward.h"
#include "models/layers/fourier_positions.h"
#include "models/layers/local_patch_interaction.h"
#include "models/layers/patches.h"
#include "models/layers/token_sequence.h"
#include "models/modules/modules.h"

namespace vitrine {
namespace {

constexpr double kNormEpsilon = 1e-6;
// Places for dropout in a block; the positions use one beyond the last block.
constexpr int kSitesPerBlock = 4;

double LayerScale(const v1::XcitConfig& xcit) {
  return xcit.layer_scale() == 0 ? 1 : xcit.layer_scale();
}

class XcitBlock : public Module {
 public:
  XcitBlock(const v1::XcitConfig& xcit, Initializer& initializer)
      : norm_(xcit.width(), kNormEpsilon, initializer),
        attention_(xcit, initializer),
        local_(xcit.width(), kNormEpsilon, initializer),
        feed_forward_(xcit.width(), xcit.mlp_width(), kNormEpsilon, initializer) {
    RegisterParameter("attention_scale", attention_scale_, initializer.Constant({xcit.width()}, LayerScale(xcit)));
    RegisterParameter("local_scale", local_scale_, initializer.Constant({xcit.width()}, LayerScale(xcit)));
    RegisterParameter("feed_forward_scale", feed_forward_scale_,
                      initializer.Constant({xcit.width()}, LayerScale(xcit)));
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("local", local_);
    RegisterChild("feed_forward", feed_forward_);
  }

  // NOTE: the local patch interaction comes before the MLP.
  PackedTokens Forward(PackedTokens x, const at::Tensor& codes, int layer, const ForwardContext& context) const {
    const int site = layer * kSitesPerBlock;
    const at::Tensor attended =
        attention_.Forward({norm_.ForwardOperand(x.data, context), x.layout}, codes, layer, site + 2, context);
    const auto drop = [&](const at::Tensor& branch, int place) {
      return DropPath(PackedTokens{branch, x.layout}, place, context);
    };
    x.data = AddBranch(x.data, drop(attended, site + 2), attention_scale_, context);  // x + gamma1 XCA(LN(x))
    const at::Tensor local = local_.Forward(x, context);
    x.data = AddBranch(x.data, drop(local, site + 1), local_scale_, context);  // x + gamma3 LPI(LN(x))
    const at::Tensor normalized = feed_forward_.norm().ForwardOperand(x.data, context);
    const at::Tensor transformed = feed_forward_.Transform(normalized, site, context);
    x.data = AddBranch(x.data, drop(transformed, site), feed_forward_scale_, context);  // x + gamma2 MLP(LN(x))
    return x;
  }

 private:
  LayerNorm norm_;
  CrossCovarianceAttention attention_;
  LocalPatchInteraction local_;
  FeedForward feed_forward_;
  at::Tensor attention_scale_;  // LayerScale, [width] each
  at::Tensor local_scale_;
  at::Tensor feed_forward_scale_;
};

// NOTE: drop path leaves the class blocks alone, as XCiT's code does.
class XcitClassBlock : public Module {
 public:
  XcitClassBlock(const v1::XcitConfig& xcit, Initializer& initializer)
      : tokens_norm_(xcit.tokens_norm()),
        norm_(xcit.width(), kNormEpsilon, initializer),
        attention_(xcit.width(), xcit.heads(), initializer),
        feed_forward_(xcit.width(), xcit.mlp_width(), kNormEpsilon, initializer) {
    RegisterParameter("attention_scale", attention_scale_, initializer.Constant({xcit.width()}, LayerScale(xcit)));
    RegisterParameter("feed_forward_scale", feed_forward_scale_,
                      initializer.Constant({xcit.width()}, LayerScale(xcit)));
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("feed_forward", feed_forward_);
  }

  // x has the class tokens before the patches of `cells`. `site` is the block's first place for dropout. The result is
  // of the same form; without `update_patches`, which nothing but the final tokens depend on after the last block, the
  // class tokens alone, [images, width].
  at::Tensor Forward(const PackedTokens& x, const std::shared_ptr<const TokenLayout>& cells, int layer, int site,
                     bool update_patches, const ForwardContext& context) const {
    const PackedTokens u{norm_.Forward(x.data, context), x.layout};
    const at::Tensor attended = attention_.Forward(ClassTokens(u), u, layer, site + 2, context);
    if (!update_patches) {
      const at::Tensor sum = AddBranch(ClassTokens(x), attended, attention_scale_, context);
      return Transform(feed_forward_.norm().Forward(sum, context), site, context);
    }
    // NOTE: the attention hands the patches through normalised, and both residuals add them to themselves:
    // p + gamma1 LN(p), then LN of that with tokens_norm, then twice that.
    const PackedTokens branch = JoinClassTokens(attended, {CellTokens(u), cells}, x.layout);
    PackedTokens sum{AddBranch(x.data, branch.data, attention_scale_, context), x.layout};
    if (tokens_norm_) sum.data = feed_forward_.norm().Forward(sum.data, context);
    const at::Tensor c = tokens_norm_ ? ClassTokens(sum) : feed_forward_.norm().Forward(ClassTokens(sum), context);
    const at::Tensor patches = CellTokens(sum);
    return JoinClassTokens(Transform(c, site, context), {patches + patches, cells}, x.layout).data;
  }

 private:
  // NOTE: the residual takes the normalised class token: c = LN(c), then c + gamma2 MLP(c).
  at::Tensor Transform(const at::Tensor& c, int site, const ForwardContext& context) const {
    return AddBranch(c, feed_forward_.Transform(c, site, context), feed_forward_scale_, context);
  }

  const bool tokens_norm_;
  LayerNorm norm_;
  ClassAttention attention_;
  FeedForward feed_forward_;
  at::Tensor attention_scale_;  // LayerScale, [width] each
  at::Tensor feed_forward_scale_;
};

class Xcit : public Model {
 public:
  Xcit(const v1::ModelConfig& model, Initializer& initializer)
      : Model(model),
        settings_(model.xcit()),
        stem_(model.preprocessing().channels(), settings_.patch(), settings_.width(), initializer),
        positions_(settings_.width(), initializer),
        norm_(settings_.width(), kNormEpsilon, initializer),
        head_(settings_.width(), model.classes(), /*bias=*/true, initializer) {
    RegisterParameter("class_token", class_token_, initializer.TruncatedNormal({1, settings_.width()}, 0.02));
    if (settings_.embedding() == v1::XcitConfig::F_SNE && !settings_.codes_per_block()) {
      RegisterParameter("codes", codes_, InitialCodes(settings_.code_length(), initializer));
    }
    RegisterChild("stem", stem_);
    RegisterChild("positions", positions_);
    for (int i = 0; i < settings_.depth(); ++i) {
      blocks_.push_back(std::make_unique<XcitBlock>(settings_, initializer));
      RegisterChild(absl::StrCat("blocks.", i), *blocks_.back());
    }
    for (int i = 0; i < settings_.class_depth(); ++i) {
      class_blocks_.push_back(std::make_unique<XcitClassBlock>(settings_, initializer));
      RegisterChild(absl::StrCat("class_blocks.", i), *class_blocks_.back());
    }
    RegisterChild("norm", norm_);
    RegisterChild("head", head_);
  }

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override {
    PackedTokens x = positions_.Add(stem_.Forward(images, context), GridsOf(images, cell()), context);  // [T, d]
    x.data = Dropout(x.data, context.dropout.position, (settings_.depth() + settings_.class_depth()) * kSitesPerBlock,
                     context);
    for (int i = 0; i < settings_.depth(); ++i) {
      x = blocks_[i]->Forward(x, codes_, i, context);
      context.HandOut(i, x);
    }
    return head_.Forward(ForwardClassBlocks(x, context));  // [images, classes]
  }

  absl::StatusOr<Grid> GridFor(int height, int width) const override {
    return GridOfInput(config().preprocessing(), cell(), height, width);
  }
  int cell() const override { return settings_.patch(); }
  int prefix_tokens() const override { return 1; }
  AttentionAbility attention() const override {
    AttentionAbility ability{.offers = {}, .prefix_tokens = 0, .cell = cell()};
    ability.channels = settings_.width() / settings_.heads();
    ability.offers = {{.kind = v1::CLASS_ATTENTION,
                       .source = AttentionSource::kClassQuery,
                       .layers = settings_.class_depth(),
                       .heads = settings_.heads()},
                      {.kind = v1::CROSS_COVARIANCE,
                       .source = AttentionSource::kChannels,
                       .layers = settings_.depth(),
                       .heads = settings_.heads()}};
    return ability;
  }
  FeatureAbility features() const override {
    return {{v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}, settings_.width()};
  }

 private:
  // The normalised class tokens [images, width].
  at::Tensor ForwardClassBlocks(const PackedTokens& patches, const ForwardContext& context) const {
    std::vector<Grid> grids;
    for (int image = 0; image < patches.layout->images(); ++image) grids.push_back(patches.layout->grid(image));
    const auto layout = TokenLayout::Make(std::move(grids), /*prefix_tokens=*/1);
    const at::Tensor c = class_token_.expand({layout->images(), settings_.width()});
    PackedTokens x = JoinClassTokens(c, patches, layout);
    for (int i = 0; i < settings_.class_depth(); ++i) {
      const int stage = settings_.depth() + i;
      const bool watched = context.WantsTokens(stage) || context.WantsTokens(TokenTap::kFinal);
      const bool update_patches = i + 1 < settings_.class_depth() || watched;
      x.data = class_blocks_[i]->Forward(x, patches.layout, i, stage * kSitesPerBlock, update_patches, context);
      if (!update_patches) return norm_.Forward(x.data, context);
      context.HandOut(stage, x);
    }
    x.data = norm_.Forward(x.data, context);
    context.HandOut(TokenTap::kFinal, x);
    return ClassTokens(x);
  }

  const v1::XcitConfig settings_;
  ConvolutionStem stem_;
  FourierPositions positions_;
  at::Tensor class_token_;
  at::Tensor codes_;  // of F_SNE with shared codes, [3, code_length]
  std::vector<std::unique_ptr<XcitBlock>> blocks_;
  std::vector<std::unique_ptr<XcitClassBlock>> class_blocks_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Model> MakeXcit(const v1::ModelConfig& config, Initializer& initializer) {
  return std::make_unique<Xcit>(config, initializer);
}

}  // namespace vitrine
