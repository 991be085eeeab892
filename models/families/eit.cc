// SPDX-License-Identifier: Apache-2.0
// EIT, efficient inductive transformer: a convolution before the patches (EIT^P) and a share of the channels that
// convolves instead of attending, large in the first block and nothing in the last (EIT^T).
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/eit_config.h"
#include "models/families/eit_parts.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/layers/convolution_patches.h"
#include "models/layers/patches.h"
#include "models/zoo/rows.h"

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

// Which options exclude each other.
absl::Status ValidateOptions(const v1::EitConfig& eit) {
  RETURN_IF_ERROR(CheckRange("eit.schedule", eit.schedule(), 0, v1::EitConfig::Schedule_MAX));
  RETURN_IF_ERROR(CheckRange("eit.convolution", eit.convolution(), 0, v1::EitConfig::Convolution_MAX));
  const auto refused = [](absl::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat("config.eit.", std::string(fault)));
  };
  if (ConvolvesChannels(eit)) {
    if (eit.parallel_convolution()) return refused("parallel_convolution is true; it needs conv_channels: false");
  } else {
    if (eit.schedule() != 0) return refused("schedule is set; with conv_channels: false no channels convolve");
    if (eit.convolution() != 0) return refused("convolution is set; with conv_channels: false no channels convolve");
  }
  if (HasPositions(eit)) {
    RETURN_IF_ERROR(CheckRange("eit.grid_rows", eit.grid_rows(), 1, 256));
    return CheckRange("eit.grid_columns", eit.grid_columns(), 1, 256);
  }
  if (eit.grid_rows() != 0 || eit.grid_columns() != 0) {
    return refused("grid_rows and grid_columns are set; with positions: false there is no table");
  }
  return absl::OkStatus();
}

absl::Status Validate(const v1::ModelConfig& config) {
  const v1::EitConfig& eit = config.eit();
  RETURN_IF_ERROR(CheckRange("eit.width", eit.width(), 1, 16384));
  RETURN_IF_ERROR(CheckRange("eit.depth", eit.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("eit.heads", eit.heads(), 1, eit.width()));
  RETURN_IF_ERROR(CheckMultiple("eit.width", eit.width(), "eit.heads", eit.heads()));
  RETURN_IF_ERROR(CheckRange("eit.mlp_width", eit.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("eit.pool", eit.pool(), 1, 15));
  RETURN_IF_ERROR(ValidateOptions(eit));
  RETURN_IF_ERROR(ValidateCell(config, "eit.pool", eit.pool()));
  for (int block = 1; block <= eit.depth(); ++block) {
    if (AttentionChannels(eit, block) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("config.eit: block ", block, " of ", eit.depth(),
                                                     " would attend with no channels; eit.width / eit.heads is ",
                                                     eit.width() / eit.heads(), ", it must be at least ",
                                                     eit.schedule() == v1::EitConfig::INVARIANT ? 2 : eit.depth()));
    }
  }
  return absl::OkStatus();
}

std::unique_ptr<Model> Make(const v1::ModelConfig& config, Initializer& initializer) {
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
  // No rollout: it would leave out what the convolutions move between tokens.
  parts.kinds = {v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE};
  return std::make_unique<EitFrame>(config, std::move(parts), initializer);
}

}  // namespace

Family EitFamily() {
  return {v1::ModelConfig::kEit, "eit", Validate, Make, zoo::EitRows};
}

}  // namespace vitrine
