// SPDX-License-Identifier: Apache-2.0
// KV transformer, vision classifier: Borji 2022 and its code. Attention from keys and values alone.
#include <ATen/TensorOperators.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/input.h"
#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"
#include "models/layers/feed_forward.h"
#include "models/layers/kv_attention.h"
#include "models/layers/patches.h"
#include "models/layers/token_sequence.h"
#include "models/modules/modules.h"

namespace vitrine {
namespace {

constexpr double kNormEpsilon = 1e-5;
// Places for dropout in a block; the positions use one beyond the last block.
constexpr int kSitesPerBlock = 4;

class KvBlock : public Module {
 public:
  KvBlock(const v1::KvConfig& config, Initializer& initializer)
      : norm_(config.width(), kNormEpsilon, initializer),
        attention_(config, initializer),
        feed_forward_(config.width(), config.mlp_width(), kNormEpsilon, initializer, Linear::Init::kFanIn) {
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("feed_forward", feed_forward_);
  }

  PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const {
    const int site = layer * kSitesPerBlock;
    const PackedTokens u{norm_.ForwardOperand(x.data, context), x.layout};
    const at::Tensor attended = attention_.Forward(u, layer, site + 2, context);
    const at::Tensor kept = DropPath(PackedTokens{attended, x.layout}, site + 2, context);
    x.data = AddBranch(x.data, kept, {}, context);     // x + Attn(LN(x))
    x.data = feed_forward_.Forward(x, site, context);  // x + MLP(LN(x))
    return x;
  }

 private:
  LayerNorm norm_;
  KvAttention attention_;
  FeedForward feed_forward_;
};

class Kv : public Model {
 public:
  Kv(const v1::ModelConfig& model, Initializer& initializer)
      : Model(model),
        settings_(model.kv()),
        grid_{settings_.grid_rows(), settings_.grid_columns()},
        patches_(model.preprocessing().channels(), settings_.patch(), settings_.width(), initializer,
                 Linear::Init::kFanIn),
        positions_(grid_, 1, initializer.Normal({1 + grid_.cells(), settings_.width()}, 1)),
        head_in_(settings_.width(), settings_.mlp_width(), /*bias=*/true, initializer, Linear::Init::kFanIn),
        head_out_(settings_.mlp_width(), model.classes(), /*bias=*/true, initializer, Linear::Init::kFanIn) {
    RegisterParameter("class_token", class_token_, initializer.Normal({1, settings_.width()}, 1));
    RegisterChild("patches", patches_);
    RegisterChild("positions", positions_);
    for (int i = 0; i < settings_.depth(); ++i) {
      blocks_.push_back(std::make_unique<KvBlock>(settings_, initializer));
      RegisterChild(absl::StrCat("blocks.", i), *blocks_.back());
    }
    RegisterChild("head_in", head_in_);
    RegisterChild("head_out", head_out_);
  }

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override {
    PackedTokens x = WithClassToken(patches_.Forward(images, context), GridsOf(images, settings_.patch()), class_token_,
                                    &positions_);  // [T, d]
    x.data = Dropout(x.data, context.dropout.position, settings_.depth() * kSitesPerBlock, context);
    for (int i = 0; i < settings_.depth(); ++i) {
      x = blocks_[i]->Forward(x, i, context);
      context.HandOut(i, x);
    }
    context.HandOut(TokenTap::kFinal, x);
    // NOTE: no final LayerNorm; the head is a hidden layer of mlp_width.
    return head_out_.Forward(head_in_.ForwardGelu(ClassTokens(x), context));  // [images, classes]
  }

  absl::StatusOr<Grid> GridFor(int height, int width) const override {
    if (height == grid_.rows * cell() && width == grid_.columns * cell()) return grid_;
    return absl::InvalidArgumentError(absl::StrCat("an input of ", height, "x", width, " pixels; this model takes ",
                                                   grid_.rows * cell(), "x", grid_.columns * cell(), " only"));
  }
  int cell() const override { return settings_.patch(); }
  int prefix_tokens() const override { return 1; }
  AttentionAbility attention() const override {
    return TokenAttention(
        {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::SCORES, v1::WEIGHTS, v1::DISTANCE},
        settings_.depth(), settings_.heads(), *this);
  }
  FeatureAbility features() const override {
    return {{v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}, settings_.width()};
  }

 private:
  const v1::KvConfig settings_;
  const Grid grid_;
  LinearPatches patches_;
  PositionTable positions_;
  at::Tensor class_token_;
  std::vector<std::unique_ptr<KvBlock>> blocks_;
  Linear head_in_;
  Linear head_out_;
};

}  // namespace

std::unique_ptr<Model> MakeKv(const v1::ModelConfig& config, Initializer& initializer) {
  return std::make_unique<Kv>(config, initializer);
}

}  // namespace vitrine
