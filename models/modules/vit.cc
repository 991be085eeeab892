// SPDX-License-Identifier: Apache-2.0
// Vision Transformer (Dosovitskiy et al. 2021): linear patches, class token, learned positions, blocks that normalise
// before each layer, or after each residual as the first transformers (Vaswani et al. 2017).
#include <ATen/TensorOperators.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/input.h"
#include "models/layers/attention.h"
#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"
#include "models/layers/feed_forward.h"
#include "models/layers/patches.h"
#include "models/layers/token_sequence.h"
#include "models/modules/modules.h"

namespace vitrine {
namespace {

// Places for dropout in a block; the positions use one beyond the last block.
constexpr int kSitesPerBlock = 4;

PackedTokens Add(const PackedTokens& x, const at::Tensor& branch, int site, const ForwardContext& context) {
  return {AddBranch(x.data, DropPath(PackedTokens{branch, x.layout}, site, context), {}, context), x.layout};
}

double NormEpsilon(const v1::VitConfig& vit) {
  return vit.norm_epsilon() == 0 ? 1e-6 : vit.norm_epsilon();
}

class VitBlock : public Module {
 public:
  VitBlock(const v1::VitConfig& vit, Initializer& initializer)
      : post_norm_(vit.norm() == v1::VitConfig::POST),
        norm_(vit.width(), NormEpsilon(vit), initializer),
        attention_(vit.width(), vit.heads(), initializer),
        feed_forward_(vit.width(), vit.mlp_width(), NormEpsilon(vit), initializer) {
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("feed_forward", feed_forward_);
  }

  PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const {
    const int site = layer * kSitesPerBlock;
    if (post_norm_) {
      x = Add(x, attention_.Forward(x, layer, site + 2, context), site + 2, context);
      x.data = norm_.Forward(x.data, context);
      x = Add(x, feed_forward_.Transform(x.data, site, context), site, context);
      x.data = feed_forward_.norm().Forward(x.data, context);
    } else {
      const PackedTokens u{norm_.ForwardOperand(x.data, context), x.layout};
      x = Add(x, attention_.Forward(u, layer, site + 2, context), site + 2, context);  // Eq. 2
      x.data = feed_forward_.Forward(x, site, context);                                // Eq. 3
    }
    return x;
  }

 private:
  const bool post_norm_;
  LayerNorm norm_;
  SelfAttention attention_;
  FeedForward feed_forward_;
};

class Vit : public Model {
 public:
  Vit(const v1::ModelConfig& model, Initializer& initializer)
      : Model(model),
        settings_(model.vit()),
        patches_(model.preprocessing().channels(), settings_.patch(), settings_.width(), initializer),
        positions_({settings_.grid_rows(), settings_.grid_columns()}, 1,
                   initializer.TruncatedNormal(
                       {1 + int64_t{settings_.grid_rows()} * settings_.grid_columns(), settings_.width()}, 0.02)),
        norm_(settings_.width(), NormEpsilon(settings_), initializer),
        head_(settings_.width(), model.classes(), /*bias=*/true, initializer) {
    RegisterParameter("class_token", class_token_, initializer.TruncatedNormal({1, settings_.width()}, 0.02));
    RegisterChild("patches", patches_);
    RegisterChild("positions", positions_);
    for (int i = 0; i < settings_.depth(); ++i) {
      blocks_.push_back(std::make_unique<VitBlock>(settings_, initializer));
      RegisterChild(absl::StrCat("blocks.", i), *blocks_.back());
    }
    if (!post_norm()) RegisterChild("norm", norm_);
    RegisterChild("head", head_);
  }

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override {
    PackedTokens x = WithClassToken(patches_.Forward(images, context), GridsOf(images, settings_.patch()), class_token_,
                                    &positions_);  // Eq. 1, [T, d]
    x.data = Dropout(x.data, context.dropout.position, settings_.depth() * kSitesPerBlock, context);
    for (int i = 0; i < settings_.depth(); ++i) {
      x = blocks_[i]->Forward(x, i, context);
      context.HandOut(i, x);
    }
    if (context.WantsTokens(TokenTap::kFinal))
      context.HandOut(TokenTap::kFinal, {FinalNorm(x.data, context), x.layout});
    return head_.Forward(FinalNorm(ClassTokens(x), context));  // Eq. 4, [images, classes]
  }

  absl::StatusOr<Grid> GridFor(int height, int width) const override {
    return GridOfInput(config().preprocessing(), settings_.patch(), height, width);
  }
  int cell() const override { return settings_.patch(); }
  int prefix_tokens() const override { return 1; }
  AttentionAbility attention() const override {
    return TokenAttention(
        {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::ROLLOUT, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE},
        settings_.depth(), settings_.heads(), *this);
  }
  FeatureAbility features() const override {
    return {{v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}, settings_.width()};
  }

 private:
  bool post_norm() const { return settings_.norm() == v1::VitConfig::POST; }
  // Tokens of post-norm blocks are normalised already.
  at::Tensor FinalNorm(const at::Tensor& x, const ForwardContext& context) const {
    return post_norm() ? x : norm_.Forward(x, context);
  }

  const v1::VitConfig settings_;
  LinearPatches patches_;
  PositionTable positions_;
  at::Tensor class_token_;
  std::vector<std::unique_ptr<VitBlock>> blocks_;
  LayerNorm norm_;  // pre-norm only
  Linear head_;
};

}  // namespace

std::unique_ptr<Model> MakeVit(const v1::ModelConfig& config, Initializer& initializer) {
  return std::make_unique<Vit>(config, initializer);
}

}  // namespace vitrine
