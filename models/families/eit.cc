// EIT, efficient inductive transformer: a convolution before the patches (EIT^P) and a share of the channels that
// convolves instead of attending, large in the first block and nothing in the last (EIT^T).
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/layers/attention.h"
#include "models/layers/convolution_patches.h"
#include "models/layers/dropout.h"
#include "models/layers/feed_forward.h"
#include "models/layers/grid_convolution.h"
#include "models/layers/patches.h"
#include "models/layers/token_sequence.h"

namespace vitrine {
namespace {

constexpr double kNormEpsilon = 1e-6;
// Places for dropout in a block; the positions use one beyond the last block.
constexpr int kSitesPerBlock = 4;

bool ConvolvesChannels(const v1::EitConfig& eit) {
  return !eit.has_conv_channels() || eit.conv_channels();
}
bool ConvolvesPixels(const v1::EitConfig& eit) {
  return !eit.has_conv_projection() || eit.conv_projection();
}

// a_i = floor((C // h) i / L) h for block i = 1..L, and a_L = C.
int AttentionChannels(const v1::EitConfig& eit, int block) {
  if (!ConvolvesChannels(eit) || block == eit.depth()) return eit.width();
  return eit.width() / eit.heads() * block / eit.depth() * eit.heads();
}

// EIT^T.
class EitBlock : public Module {
 public:
  EitBlock(const v1::EitConfig& eit, int block, Initializer& initializer)
      : width_(eit.width()),
        attended_(AttentionChannels(eit, block)),
        norm_(width_, kNormEpsilon, initializer),
        feed_forward_(width_, eit.mlp_width(), kNormEpsilon, initializer) {
    RegisterChild("norm", norm_);
    if (convolved() > 0) {
      convolution_ = std::make_unique<GridConvolution>(convolved(), initializer);
      RegisterChild("convolution", *convolution_);
    }
    attention_ = std::make_unique<SelfAttention>(attended_, eit.heads(), initializer);
    RegisterChild("attention", *attention_);
    RegisterChild("feed_forward", feed_forward_);
  }

  PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const {
    const at::Tensor u = norm_.Forward(x.data);                               // u = LN1(x), [T, C]
    x.data = x.data + Mix({u, x.layout}, layer, context);                     // x + [conv(u_1..c), attn(u_c+1..C)]
    x.data = feed_forward_.Forward(x.data, layer * kSitesPerBlock, context);  // x + MLP(LN2(x))
    return x;
  }

 private:
  int convolved() const { return width_ - attended_; }  // c_i = C - a_i

  // The first c_i channels convolve, the others attend. NOTE: the class token is not on the grid, so that its first c_i
  // channels pass through as LN1 values.
  at::Tensor Mix(const PackedTokens& u, int layer, const ForwardContext& context) const {
    const at::Tensor attended = attention_->Forward({u.data.narrow(1, convolved(), attended_), u.layout}, layer,
                                                    layer * kSitesPerBlock + 2, context);  // [T, a_i]
    if (convolution_ == nullptr) return attended;
    const at::Tensor convolved_part =
        convolution_->Forward({u.data.narrow(1, 0, convolved()), u.layout}, context);  // [T, c_i]
    return at::cat({convolved_part, attended}, 1);
  }

  const int width_;
  const int attended_;
  LayerNorm norm_;
  std::unique_ptr<GridConvolution> convolution_;  // null where all channels attend
  std::unique_ptr<SelfAttention> attention_;
  FeedForward feed_forward_;
};

class Eit : public Model {
 public:
  Eit(const v1::ModelConfig& model, Initializer& initializer)
      : Model(model),
        settings_(model.eit()),
        positions_({settings_.grid_rows(), settings_.grid_columns()}, 1,
                   initializer.TruncatedNormal(
                       {1 + int64_t{settings_.grid_rows()} * settings_.grid_columns(), settings_.width()}, 0.02)),
        norm_(settings_.width(), kNormEpsilon, initializer),
        head_(settings_.width(), model.classes(), /*bias=*/true, initializer) {
    RegisterParameter("class_token", class_token_, initializer.TruncatedNormal({1, settings_.width()}, 0.02));
    const int channels = model.preprocessing().channels();
    if (ConvolvesPixels(settings_)) {
      convolution_patches_ =
          std::make_unique<ConvolutionPatches>(channels, settings_.pool(), settings_.width(), initializer);
      RegisterChild("patches", *convolution_patches_);
    } else {
      linear_patches_ = std::make_unique<LinearPatches>(channels, settings_.pool(), settings_.width(), initializer);
      RegisterChild("patches", *linear_patches_);
    }
    RegisterChild("positions", positions_);
    for (int i = 0; i < settings_.depth(); ++i) {
      blocks_.push_back(std::make_unique<EitBlock>(settings_, i + 1, initializer));
      RegisterChild(absl::StrCat("blocks.", i), *blocks_.back());
    }
    RegisterChild("norm", norm_);
    RegisterChild("head", head_);
  }

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override {
    const at::Tensor patches = convolution_patches_ != nullptr ? convolution_patches_->Forward(images, context)
                                                               : linear_patches_->Forward(images, context);
    PackedTokens x = WithClassToken(patches, GridsOf(images, settings_.pool()), class_token_, positions_);  // [T, C]
    x.data = Dropout(x.data, settings_.depth() * kSitesPerBlock, context);
    for (int i = 0; i < settings_.depth(); ++i) {
      x = blocks_[i]->Forward(x, i, context);
      context.HandOut(i, x);
    }
    if (context.WantsTokens(TokenTap::kFinal)) context.HandOut(TokenTap::kFinal, {norm_.Forward(x.data), x.layout});
    return head_.Forward(norm_.Forward(ClassTokens(x)));  // [images, classes]
  }

  absl::StatusOr<Grid> GridFor(int height, int width) const override {
    return GridOfInput(config().preprocessing(), settings_.pool(), height, width);
  }
  int cell() const override { return settings_.pool(); }
  int prefix_tokens() const override { return 1; }
  AttentionAbility attention() const override {
    // No rollout: it would leave out what the convolutions move between tokens.
    return TokenAttention({v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE},
                          settings_.depth(), settings_.heads(), *this);
  }
  FeatureAbility features() const override {
    return {{v1::CLASS_TOKEN, v1::MEAN_TOKEN, v1::PATCH_TOKENS}, settings_.width()};
  }

 private:
  const v1::EitConfig settings_;
  std::unique_ptr<ConvolutionPatches> convolution_patches_;  // EIT^P, or null
  std::unique_ptr<LinearPatches> linear_patches_;            // without EIT^P, or null
  PositionTable positions_;
  at::Tensor class_token_;
  std::vector<std::unique_ptr<EitBlock>> blocks_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace

absl::Status ValidateEit(const v1::ModelConfig& config) {
  const v1::EitConfig& eit = config.eit();
  RETURN_IF_ERROR(CheckRange("eit.width", eit.width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("eit.depth", eit.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("eit.heads", eit.heads(), 1, eit.width()));
  RETURN_IF_ERROR(CheckMultiple("eit.width", eit.width(), "eit.heads", eit.heads()));
  RETURN_IF_ERROR(CheckRange("eit.mlp_width", eit.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("eit.pool", eit.pool(), 1, 15));
  RETURN_IF_ERROR(CheckRange("eit.grid_rows", eit.grid_rows(), 1, 256));
  RETURN_IF_ERROR(CheckRange("eit.grid_columns", eit.grid_columns(), 1, 256));
  RETURN_IF_ERROR(ValidateCell(config, "eit.pool", eit.pool()));
  if (AttentionChannels(eit, 1) == 0) {
    return absl::InvalidArgumentError(
        "config.eit: the first block would attend with no channels; eit.width / eit.heads must be at least eit.depth");
  }
  return absl::OkStatus();
}

std::unique_ptr<Model> MakeEit(const v1::ModelConfig& config, Initializer& initializer) {
  return std::make_unique<Eit>(config, initializer);
}

}  // namespace vitrine
