// SPDX-License-Identifier: Apache-2.0
// What EIT is compared with (Table 4): ViT's frame with the patch projection of CvT or ViT_C, with the blocks of LSRA
// or CvT, or both. The configurations are those that reproduce the printed parameters and FLOPs.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "base/status_macros.h"
#include "models/families/input.h"
#include "models/layers/dropout.h"
#include "models/layers/elementwise.h"
#include "models/layers/grid_convolution.h"
#include "models/layers/patches.h"
#include "models/layers/strided_convolution.h"
#include "models/modules/eit_parts.h"
#include "models/modules/modules.h"

namespace vitrine {
namespace {

// CvT^T: q, k and v each come from a 3x3 convolution over the grid, without bias; one linear layer 3C -> 3C follows.
class ConvolvedQkvAttention : public Module {
 public:
  ConvolvedQkvAttention(int width, int heads, Initializer& initializer)
      : heads_(heads),
        conv_q_(width, initializer),
        conv_k_(width, initializer),
        conv_v_(width, initializer),
        qkv_(3 * width, 3 * width, /*bias=*/true, initializer),
        proj_(width, width, /*bias=*/true, initializer) {
    RegisterChild("conv_q", conv_q_);
    RegisterChild("conv_k", conv_k_);
    RegisterChild("conv_v", conv_v_);
    RegisterChild("qkv", qkv_);
    RegisterChild("proj", proj_);
  }

  // [T, C] -> [T, C]. The class token passes the convolutions unchanged.
  at::Tensor Forward(const PackedTokens& x, int layer, int site, const ForwardContext& context) const {
    const at::Tensor convolved =
        at::cat({conv_q_.Forward(x, context), conv_k_.Forward(x, context), conv_v_.Forward(x, context)}, 1);
    const at::Tensor qkv = qkv_.ForwardOperand(convolved, context).view({-1, 3, heads_, x.data.size(1) / heads_});
    const at::Tensor mixed = AttendWithinImages(qkv, x.layout, layer, site + 1, context);
    return Dropout(proj_.ForwardOperand(mixed, context), context.dropout.projection, site, context);
  }

 private:
  const int heads_;
  GridConvolution conv_q_;
  GridConvolution conv_k_;
  GridConvolution conv_v_;
  Linear qkv_;
  Linear proj_;
};

class ConvolvedQkvBlock : public EncoderBlock {
 public:
  ConvolvedQkvBlock(const v1::EitBaselineConfig& baseline, Initializer& initializer)
      : norm_(baseline.width(), kEitNormEpsilon, initializer),
        attention_(baseline.width(), baseline.heads(), initializer),
        feed_forward_(baseline.width(), baseline.mlp_width(), kEitNormEpsilon, initializer) {
    RegisterChild("norm", norm_);
    RegisterChild("attention", attention_);
    RegisterChild("feed_forward", feed_forward_);
  }

  PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const override {
    const int site = layer * kEitSitesPerBlock;
    const PackedTokens u{norm_.ForwardOperand(x.data, context), x.layout};
    const at::Tensor attended = attention_.Forward(u, layer, site + 2, context);
    const at::Tensor kept = DropPath(PackedTokens{attended, x.layout}, site + 2, context);
    x.data = AddBranch(x.data, kept, {}, context);
    x.data = feed_forward_.Forward(x, site, context);
    return x;
  }

 private:
  LayerNorm norm_;
  ConvolvedQkvAttention attention_;
  FeedForward feed_forward_;
};

int CellOf(const v1::EitBaselineConfig& baseline) {
  return baseline.patches() == v1::EitBaselineConfig::OVERLAPPING ? 2 : 4;
}

PatchProjection MakePatches(const v1::EitBaselineConfig& baseline, int channels, Initializer& initializer) {
  const int cell = CellOf(baseline);
  switch (baseline.patches()) {
    case v1::EitBaselineConfig::OVERLAPPING:
      return PatchProjection::Of<StridedConvolution>(cell, channels, baseline.width(), /*kernel=*/4, /*stride=*/2,
                                                     /*padding=*/1, initializer);
    case v1::EitBaselineConfig::STEM:
      return PatchProjection::Of<VitCStem>(cell, channels, baseline.width(), initializer);
    default:
      return PatchProjection::Of<LinearPatches>(cell, channels, cell, baseline.width(), initializer);
  }
}

// floor((C // h) / 2) h for LSRA, in every block; all channels otherwise.
int AttentionChannels(const v1::EitBaselineConfig& baseline) {
  if (baseline.mixer() != v1::EitBaselineConfig::LSRA) return baseline.width();
  return baseline.width() / baseline.heads() / 2 * baseline.heads();
}

std::unique_ptr<EncoderBlock> MakeBlock(const v1::EitBaselineConfig& baseline, Initializer& initializer) {
  if (baseline.mixer() == v1::EitBaselineConfig::CONVOLVED_QKV) {
    return std::make_unique<ConvolvedQkvBlock>(baseline, initializer);
  }
  const SplitBlock::Form form = {.width = baseline.width(),
                                 .attended = AttentionChannels(baseline),
                                 .heads = baseline.heads(),
                                 .mlp_width = baseline.mlp_width(),
                                 .branch = ConvolutionBranch::Form::kGeluConvLinear};
  return std::make_unique<SplitBlock>(form, initializer);
}

}  // namespace

std::unique_ptr<Model> MakeEitBaseline(const v1::ModelConfig& config, Initializer& initializer) {
  const v1::EitBaselineConfig& baseline = config.eit_baseline();
  EitFrame::Parts parts;
  parts.width = baseline.width();
  parts.heads = baseline.heads();
  parts.table = Grid{baseline.grid_rows(), baseline.grid_columns()};
  parts.patches = MakePatches(baseline, config.preprocessing().channels(), initializer);
  for (int i = 0; i < baseline.depth(); ++i) parts.blocks.push_back(MakeBlock(baseline, initializer));
  parts.kinds = {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE};
  // Elsewhere it would leave out what the convolutions move between tokens.
  if (baseline.mixer() == v1::EitBaselineConfig::ATTENTION) parts.kinds.push_back(v1::ROLLOUT);
  return std::make_unique<EitFrame>(config, std::move(parts), initializer);
}

}  // namespace vitrine
