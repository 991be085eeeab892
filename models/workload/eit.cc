// SPDX-License-Identifier: Apache-2.0
// EIT, the models it is compared with, and its ablations (paper 001, 2.2 to 2.6).
#include "absl/strings/str_cat.h"
#include "models/families/eit_config.h"
#include "models/workload/families.h"
#include "models/workload/layers.h"

namespace vitrine::workload {
namespace {

// EIT^P: a convolution of every pixel, then a pool. What runs pools as it convolves, and leaves out pixels beyond the
// last whole cell.
void ConvolutionPatches(Builder& builder, const WorkloadInput& input, int channels, const v1::EitConfig& eit) {
  Builder::Convolved sizes{.inputs = channels, .outputs = eit.width(), .bias = true};
  if (builder.published()) {
    sizes.height = input.height;
    sizes.width = input.width;
    builder.Convolution("patches.convolution", sizes);
    builder.Pool("patches.pool", eit.width(), input.height, input.width, eit.pool());
    return;
  }
  sizes.height = builder.grid().rows * eit.pool();
  sizes.width = builder.grid().columns * eit.pool();
  Operator& op = builder.Convolution("patches.convolution_pool", sizes);
  op.pool = eit.pool();
  op.bytes_written /= int64_t{eit.pool()} * eit.pool();
}

// Tokens that a dense layer in the convolved branch takes. It costs less to take the class tokens along and drop them
// than to copy the others apart.
int64_t BranchRows(const Builder& builder) {
  return builder.published() ? builder.cells() : builder.tokens();
}

// What the convolved channels go through, on the patch tokens; the class token's pass by.
void ConvolvedChannels(Builder& builder, v1::EitConfig::Convolution kind, int channels) {
  const int64_t rows = builder.cells();
  builder.Within("convolution", [&] {
    if (kind == v1::EitConfig::GELU_CONV) {
      builder.Linear("linear", BranchRows(builder), channels, channels);
      builder.Gelu("gelu", BranchRows(builder), channels);
    }
    const int convolutions = kind == v1::EitConfig::CONV_CONV ? 3 : 1;
    for (int i = 0; i < convolutions; ++i) {
      builder.GridConvolution(absl::StrCat("convolution", i), channels, channels, 1, /*bias=*/false);
    }
    if (kind == v1::EitConfig::BN_RELU) {
      builder.Elementwise(OperatorKind::kBatchNorm, "batch_norm", rows, channels, 2 * int64_t{channels});
      builder.Elementwise(OperatorKind::kRelu, "relu", rows, channels);
    }
  });
}

void EitBlock(Builder& builder, const v1::EitConfig& eit, int block) {
  const int width = eit.width();
  const int attended = AttentionChannels(eit, block);
  builder.LayerNorm("norm", builder.tokens(), width);
  if (attended < width) ConvolvedChannels(builder, eit.convolution(), width - attended);
  SelfAttention(builder, attended, eit.heads());
  if (attended < width) builder.Elementwise(OperatorKind::kConcatenate, "concatenate", builder.tokens(), width);
  if (eit.parallel_convolution()) {
    ConvolvedChannels(builder, v1::EitConfig::CONV, width);
    builder.Add("parallel.add", builder.tokens(), width);
  }
  builder.Add("add", builder.tokens(), width);
  FeedForward(builder, builder.tokens(), builder.tokens(), width, eit.mlp_width());
  builder.Add("feed_forward.add", builder.tokens(), width);
}

// LSRA: a fixed share of the channels attends; the others go through GELU, a convolution and a dense layer.
void Lsra(Builder& builder, const v1::EitBaselineConfig& config) {
  const int attended = config.width() / config.heads() / 2 * config.heads();
  const int convolved = config.width() - attended;
  builder.Within("convolution", [&] {
    builder.Gelu("gelu", BranchRows(builder), convolved);
    builder.GridConvolution("convolution", convolved, convolved, 1, /*bias=*/false);
    builder.Linear("linear", BranchRows(builder), convolved, convolved);
  });
  SelfAttention(builder, attended, config.heads());
  builder.Elementwise(OperatorKind::kConcatenate, "concatenate", builder.tokens(), config.width());
}

// CvT^T: convolutions of the patch tokens for q, k and v; then one dense layer on all three.
void ConvolvedQkv(Builder& builder, const v1::EitBaselineConfig& config) {
  const int64_t width = config.width();
  builder.Within("attention", [&] {
    for (const char* which : {"q", "k", "v"}) {
      builder.GridConvolution(absl::StrCat("convolution.", which), width, width, 1, /*bias=*/false);
    }
    builder.Linear("qkv", builder.tokens(), 3 * width, 3 * width);
    MixTokens(builder, config.heads(), width / config.heads());
    builder.Linear("proj", builder.tokens(), width, width);
  });
}

void BaselinePatches(Builder& builder, const WorkloadInput& input, int channels, const v1::EitBaselineConfig& config) {
  const Builder::Convolved first{.inputs = channels,
                                 .outputs = config.width(),
                                 .height = input.height,
                                 .width = input.width,
                                 .kernel = 4,
                                 .stride = 2,
                                 .bias = true};
  switch (config.patches()) {
    case v1::EitBaselineConfig::OVERLAPPING:
      builder.Convolution("patches.convolution", first);
      return;
    case v1::EitBaselineConfig::STEM: {
      const int64_t pixels = builder.images() * (input.height / 2) * (input.width / 2);
      builder.Convolution("patches.convolution1", first);
      builder.Elementwise(OperatorKind::kRelu, "patches.relu1", pixels, config.width());
      Builder::Convolved second = first;
      second.inputs = config.width();
      second.height = input.height / 2;
      second.width = input.width / 2;
      builder.Convolution("patches.convolution2", second);
      builder.Elementwise(OperatorKind::kRelu, "patches.relu2", builder.cells(), config.width());
      Builder::Convolved third = second;
      third.height /= 2;
      third.width /= 2;
      third.kernel = 1;
      third.stride = 1;
      third.padding = 0;
      builder.Convolution("patches.convolution3", third);
      return;
    }
    default:
      LinearPatches(builder, channels, 4, config.width());
  }
}

}  // namespace

void DescribeEit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder) {
  const v1::EitConfig& eit = config.eit();
  const int channels = config.preprocessing().channels();
  if (ConvolvesPixels(eit)) {
    ConvolutionPatches(builder, input, channels, eit);
  } else {
    LinearPatches(builder, channels, eit.pool(), eit.width());
  }
  if (HasPositions(eit)) {
    ClassTokenAndPositions(builder, {eit.grid_rows(), eit.grid_columns()}, eit.width());
  } else {
    ClassToken(builder, eit.width());
  }
  builder.Enter(ModelPart::kBlock);
  for (int i = 0; i < eit.depth(); ++i) {
    builder.Within(absl::StrCat("blocks.", i), [&] { EitBlock(builder, eit, i + 1); });
  }
  NormAndHead(builder, eit.width(), config.classes());
}

void DescribeEitBaseline(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder) {
  const v1::EitBaselineConfig& baseline = config.eit_baseline();
  BaselinePatches(builder, input, config.preprocessing().channels(), baseline);
  ClassTokenAndPositions(builder, {baseline.grid_rows(), baseline.grid_columns()}, baseline.width());
  builder.Enter(ModelPart::kBlock);
  for (int i = 0; i < baseline.depth(); ++i) {
    builder.Within(absl::StrCat("blocks.", i), [&] {
      builder.LayerNorm("norm", builder.tokens(), baseline.width());
      switch (baseline.mixer()) {
        case v1::EitBaselineConfig::LSRA:
          Lsra(builder, baseline);
          break;
        case v1::EitBaselineConfig::CONVOLVED_QKV:
          ConvolvedQkv(builder, baseline);
          break;
        default:
          SelfAttention(builder, baseline.width(), baseline.heads());
      }
      builder.Add("add", builder.tokens(), baseline.width());
      FeedForward(builder, builder.tokens(), builder.tokens(), baseline.width(), baseline.mlp_width());
      builder.Add("feed_forward.add", builder.tokens(), baseline.width());
    });
  }
  NormAndHead(builder, baseline.width(), config.classes());
}

}  // namespace vitrine::workload
