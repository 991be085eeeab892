// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_MODULES_EIT_PARTS_H_
#define VITRINE_MODELS_MODULES_EIT_PARTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/layers/attention.h"
#include "models/layers/convolution_branch.h"
#include "models/layers/feed_forward.h"
#include "models/layers/position_table.h"
#include "models/model.h"

namespace vitrine {

// What EIT and the models that it is compared with share: a frame around a patch projection and blocks, and the block.

inline constexpr double kEitNormEpsilon = 1e-6;
// Places for dropout in a block; the positions use one beyond the last block.
inline constexpr int kEitSitesPerBlock = 4;

// A block of the encoder: tokens in, tokens out.
class EncoderBlock : public Module {
 public:
  // `layer` is the block's number, from 0.
  virtual PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const = 0;
};

// Pre-norm block whose first channels go through a convolution branch while the others attend (EIT^T, LSRA). With all
// channels attending it is ViT's.
class SplitBlock : public EncoderBlock {
 public:
  struct Form {
    int width = 0;     // C
    int attended = 0;  // a, a multiple of `heads`; the branch has C - a channels
    int heads = 0;
    int mlp_width = 0;
    ConvolutionBranch::Form branch = ConvolutionBranch::Form::kConv;
    bool parallel = false;  // a == C, and a convolution of all channels is added to the attention
  };
  SplitBlock(const Form& form, Initializer& initializer);

  PackedTokens Forward(PackedTokens x, int layer, const ForwardContext& context) const override;

 private:
  // What is added to the tokens, for u = LN(x). NOTE: the class token is not on the grid, so that its channels pass the
  // convolution as they are: it receives x + LN(x) there.
  at::Tensor Mix(const PackedTokens& u, int layer, const ForwardContext& context) const;

  const Form form_;
  LayerNorm norm_;
  std::unique_ptr<ConvolutionBranch> convolution_;  // null where nothing convolves
  std::unique_ptr<SelfAttention> attention_;
  FeedForward feed_forward_;
};

// A patch projection of any kind.
struct PatchProjection {
  std::unique_ptr<Module> layer;
  // Images -> [cells of all images, width]; `layer` outlives the calls.
  std::function<at::Tensor(const ImageBatch&, const ForwardContext&)> embed;
  int cell = 0;  // pixels per token along each side

  template <typename Layer, typename... Arguments>
  static PatchProjection Of(int cell, Arguments&&... arguments) {
    auto layer = std::make_unique<Layer>(std::forward<Arguments>(arguments)...);
    const Layer* projection = layer.get();
    return {std::move(layer),
            [projection](const ImageBatch& images, const ForwardContext& context) {
              return projection->Forward(images, context);
            },
            cell};
  }
};

// Class token, learned positions, blocks, LayerNorm, linear head on the class token.
class EitFrame : public Model {
 public:
  struct Parts {
    int width = 0;
    int heads = 0;
    std::optional<Grid> table;  // the grid of the position table; empty: no positions
    PatchProjection patches;
    std::vector<std::unique_ptr<EncoderBlock>> blocks;
    std::vector<v1::AttentionKind> kinds;  // what can be asked for as attention
  };
  EitFrame(const v1::ModelConfig& model, Parts parts, Initializer& initializer);

  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const override;
  absl::StatusOr<Grid> GridFor(int height, int width) const override;
  int cell() const override { return parts_.patches.cell; }
  int prefix_tokens() const override { return 1; }
  AttentionAbility attention() const override;
  FeatureAbility features() const override;

 private:
  Parts parts_;
  std::unique_ptr<PositionTable> positions_;
  at::Tensor class_token_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_MODULES_EIT_PARTS_H_
