// SPDX-License-Identifier: Apache-2.0
// EIT, efficient inductive transformer: a convolution before the patches (EIT^P) and a share of the channels that
// convolves instead of attending, large in the first block and nothing in the last (EIT^T).
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/eit_config.h"
#include "models/families/input.h"
#include "models/layers/convolution_patches.h"
#include "models/layers/patches.h"
#include "models/modules/eit_parts.h"
#include "models/modules/modules.h"

namespace vitrine {
namespace {

ConvolutionBranch::Form BranchForm(v1::EitConfig::Convolution convolution) {
  switch (convolution) {
    case v1::EitConfig::CONV_CONV:
      return ConvolutionBranch::Form::kConvConv;
    case v1::EitConfig::GELU_CONV:
      return ConvolutionBranch::Form::kGeluConv;
    case v1::EitConfig::BN_RELU:
      return ConvolutionBranch::Form::kBnRelu;
    default:
      return ConvolutionBranch::Form::kConv;
  }
}

PatchProjection MakePatches(const v1::EitConfig& eit, int channels, Initializer& initializer) {
  if (ConvolvesPixels(eit)) {
    return PatchProjection::Of<ConvolutionPatches>(eit.pool(), channels, eit.pool(), eit.width(), initializer);
  }
  return PatchProjection::Of<LinearPatches>(eit.pool(), channels, eit.pool(), eit.width(), initializer);
}

}  // namespace

std::unique_ptr<Model> MakeEit(const v1::ModelConfig& config, Initializer& initializer) {
  const v1::EitConfig& eit = config.eit();
  EitFrame::Parts parts;
  parts.width = eit.width();
  parts.heads = eit.heads();
  if (HasPositions(eit)) parts.table = Grid{eit.grid_rows(), eit.grid_columns()};
  parts.patches = MakePatches(eit, config.preprocessing().channels(), initializer);
  for (int block = 1; block <= eit.depth(); ++block) {
    const SplitBlock::Form form = {.width = eit.width(),
                                   .attended = AttentionChannels(eit, block),
                                   .heads = eit.heads(),
                                   .mlp_width = eit.mlp_width(),
                                   .branch = BranchForm(eit.convolution()),
                                   .parallel = eit.parallel_convolution()};
    parts.blocks.push_back(std::make_unique<SplitBlock>(form, initializer));
  }
  parts.kinds = {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE};
  // Elsewhere it would leave out what the convolutions move between tokens.
  if (!ConvolvesChannels(eit) && !eit.parallel_convolution()) parts.kinds.push_back(v1::ROLLOUT);
  return std::make_unique<EitFrame>(config, std::move(parts), initializer);
}

}  // namespace vitrine
