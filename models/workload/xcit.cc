// SPDX-License-Identifier: Apache-2.0
// XCiT with the QKV embeddings of SNE, P-SNE and F-SNE (paper 000, 1.2 to 1.5).
#include "absl/strings/str_cat.h"
#include "models/workload/families.h"
#include "models/workload/layers.h"

namespace vitrine::workload {
namespace {

// Three networks d -> d_q -> ... -> d with ReLU between, one each for q, k and v.
void SeparateEmbedding(Builder& builder, const v1::XcitConfig& xcit, bool share_last) {
  const int64_t rows = builder.cells();
  const int layers = xcit.embedding_layers() == 0 ? 2 : xcit.embedding_layers();
  bool first = true;
  for (const char* which : {"q", "k", "v"}) {
    builder.Within(which, [&] {
      for (int i = 0; i < layers; ++i) {
        const bool last = i + 1 == layers;
        Operator& op = builder.Linear(absl::StrCat("layers.", i), rows, i == 0 ? xcit.width() : xcit.embedding_width(),
                                      last ? xcit.width() : xcit.embedding_width());
        if (last && share_last && !first) op.parameters = 0;
        if (!last) builder.Elementwise(OperatorKind::kRelu, "relu", rows, xcit.embedding_width());
      }
    });
    first = false;
  }
}

// Both layers shared; the input is [x, code]. The published form multiplies all of it three times; since a code is the
// same for every token, W [x, code] = W_x x + W_c code, and W_x x is computed once.
void CodedEmbedding(Builder& builder, const v1::XcitConfig& xcit, bool first_block) {
  const int64_t rows = builder.cells();
  const int64_t hidden = xcit.embedding_width();
  const int64_t code = xcit.code_length();
  const int64_t shared = (xcit.width() + code) * hidden + hidden;  // of the first layer
  const int64_t codes = first_block || xcit.codes_per_block() ? 3 * code : 0;
  if (!builder.published()) builder.Linear("layers.0", rows, xcit.width(), hidden).parameters = shared;
  bool first = true;
  for (const char* which : {"q", "k", "v"}) {
    builder.Within(which, [&] {
      if (builder.published()) {
        builder.Linear("layers.0", rows, xcit.width() + code, hidden).parameters = first ? shared + codes : 0;
      } else {
        builder.Linear("code", 1, code, hidden, /*bias=*/false).parameters = first ? codes : 0;
        builder.Add("code_row", rows, hidden);
      }
      builder.Elementwise(OperatorKind::kRelu, "relu", rows, hidden);
      Operator& second = builder.Linear("layers.1", rows, hidden, xcit.width());
      if (!first) second.parameters = 0;
    });
    first = false;
  }
}

void CrossCovarianceAttention(Builder& builder, const v1::XcitConfig& xcit, bool first_block) {
  const int64_t d = xcit.width();
  const int64_t head_width = d / xcit.heads();
  const int64_t batch = builder.images() * xcit.heads();
  builder.Within("attention", [&] {
    switch (xcit.embedding()) {
      case v1::XcitConfig::SNE:
        SeparateEmbedding(builder, xcit, /*share_last=*/false);
        break;
      case v1::XcitConfig::P_SNE:
        SeparateEmbedding(builder, xcit, /*share_last=*/true);
        break;
      case v1::XcitConfig::F_SNE:
        CodedEmbedding(builder, xcit, first_block);
        break;
      default:
        builder.Linear("qkv", builder.cells(), d, 3 * d);
    }
    // Of d_h x d_h: a product over the tokens, so that the cost is linear in their number.
    builder.Elementwise(OperatorKind::kNormalize, "normalize", 2 * builder.cells(), d);
    builder.ChannelProduct("scores", xcit.heads(), builder.grid().cells(), head_width);
    builder.Elementwise(OperatorKind::kScale, "temperature", batch * head_width, head_width, xcit.heads());
    builder.Elementwise(OperatorKind::kSoftmax, "softmax", batch * head_width, head_width);
    builder.MixChannels("values", xcit.heads(), builder.grid().cells(), head_width);
    builder.Linear("proj", builder.cells(), d, d);
  });
}

void ScaleAndAdd(Builder& builder, const std::string& prefix, int64_t rows, int64_t width) {
  if (!builder.published()) {
    builder.Elementwise(OperatorKind::kScaleAdd, prefix + ".scale_add", rows, width, width);
    return;
  }
  builder.Elementwise(OperatorKind::kScale, prefix + ".scale", rows, width, width);
  builder.Add(prefix + ".add", rows, width);
}

void CrossCovarianceBlock(Builder& builder, const v1::XcitConfig& xcit, bool first_block) {
  const int64_t rows = builder.cells();
  builder.LayerNorm("norm", rows, xcit.width());
  CrossCovarianceAttention(builder, xcit, first_block);
  ScaleAndAdd(builder, "attention", rows, xcit.width());
  LocalPatchInteraction(builder, xcit.width());
  ScaleAndAdd(builder, "local", rows, xcit.width());
  FeedForward(builder, rows, rows, xcit.width(), xcit.mlp_width());
  ScaleAndAdd(builder, "feed_forward", rows, xcit.width());
}

void ClassAttention(Builder& builder, const v1::XcitConfig& xcit) {
  const int64_t d = xcit.width();
  const int64_t n = builder.grid().cells() + 1;
  const int64_t head_width = d / xcit.heads();
  const int64_t batch = builder.images() * xcit.heads();
  builder.Within("attention", [&] {
    if (builder.published()) {
      builder.Linear("qkv", builder.tokens(), d, 3 * d);
      builder.Matmul("scores", batch, 1, head_width, n);
      builder.Elementwise(OperatorKind::kScale, "scale", batch, n);
      builder.Elementwise(OperatorKind::kSoftmax, "softmax", batch, n);
      builder.Matmul("values", batch, 1, n, head_width);
    } else {
      builder.Linear("q", builder.images(), d, d);
      builder.Linear("k", builder.tokens(), d, d);
      builder.Linear("v", builder.tokens(), d, d);
      builder.Attention("mix", xcit.heads(), 1, n, head_width);
    }
    builder.Linear("proj", builder.images(), d, d);
  });
}

// The class token attends to all tokens; the patch tokens change as the table of 1.3 says, all but those of the last
// block reaching nobody.
void ClassBlock(Builder& builder, const v1::XcitConfig& xcit, bool last) {
  const int64_t d = xcit.width();
  const bool published = builder.published();
  builder.LayerNorm("norm", builder.tokens(), d);
  if (!published) builder.Elementwise(OperatorKind::kConcatenate, "join", builder.tokens(), d);
  ClassAttention(builder, xcit);
  ScaleAndAdd(builder, "attention", published ? builder.tokens() : builder.images(), d);
  FeedForward(builder, builder.images(), published && xcit.tokens_norm() ? builder.tokens() : builder.images(),
              xcit.width(), xcit.mlp_width());
  ScaleAndAdd(builder, "feed_forward", builder.images(), d);
  if (published) {
    builder.Add("patches.double", builder.cells(), d);
  } else if (!last) {
    builder.Elementwise(OperatorKind::kScaleAdd, "patches.scale_add", builder.cells(), d);
    if (xcit.tokens_norm()) builder.Elementwise(OperatorKind::kLayerNorm, "patches.norm", builder.cells(), d);
    builder.Elementwise(OperatorKind::kScale, "patches.double", builder.cells(), d);
  }
}

}  // namespace

void DescribeXcit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder) {
  const v1::XcitConfig& xcit = config.xcit();
  ConvolutionalStem(builder, input, config.preprocessing().channels(), xcit.patch(), xcit.width());
  builder.Enter(ModelPart::kBlock);
  for (int i = 0; i < xcit.depth(); ++i) {
    builder.Within(absl::StrCat("blocks.", i), [&] { CrossCovarianceBlock(builder, xcit, i == 0); });
  }
  ExpandClassToken(builder, xcit.width());
  for (int i = 0; i < xcit.class_depth(); ++i) {
    builder.Within(absl::StrCat("class_blocks.", i), [&] { ClassBlock(builder, xcit, i + 1 == xcit.class_depth()); });
  }
  NormAndHead(builder, xcit.width(), config.classes());
}

}  // namespace vitrine::workload
