// SPDX-License-Identifier: Apache-2.0
// X-ViT (paper 002, 3.2 and 3.3): linear attention, normalised by XNorm.
#include "absl/strings/str_cat.h"
#include "models/workload/families.h"
#include "models/workload/layers.h"

namespace vitrine::workload {
namespace {

// K^T V of d_h x d_h first, then every query against it: no token meets another.
void MixByContext(Builder& builder, const v1::XVitConfig& xvit, int64_t queries, int64_t keys) {
  const int64_t head_width = xvit.attention_width() / xvit.heads();
  const int64_t batch = builder.images() * xvit.heads();
  builder.ChannelProduct("context", xvit.heads(), keys, head_width);
  builder.Elementwise(OperatorKind::kNormalize, "normalize_queries", builder.images() * queries, xvit.attention_width(),
                      xvit.heads());
  builder.Elementwise(OperatorKind::kNormalize, "normalize_context", batch * head_width, head_width, xvit.heads());
  builder.MixChannels("values", xvit.heads(), queries, head_width);
}

void AffineAndAdd(Builder& builder, const std::string& prefix, int64_t rows, int64_t width) {
  builder.Elementwise(OperatorKind::kAffine, prefix + ".affine", rows, width, 2 * width);
  builder.Add(prefix + ".add", rows, width);
}

void TokenBlock(Builder& builder, const v1::XVitConfig& xvit) {
  const int64_t rows = builder.cells();
  builder.LayerNorm("norm", rows, xvit.width());
  builder.Within("attention", [&] {
    builder.Linear("qkv", rows, xvit.width(), 3 * int64_t{xvit.attention_width()});
    MixByContext(builder, xvit, builder.grid().cells(), builder.grid().cells());
    builder.Linear("proj", rows, xvit.attention_width(), xvit.width());
  });
  AffineAndAdd(builder, "attention", rows, xvit.width());
  LocalPatchInteraction(builder, xvit.width());
  AffineAndAdd(builder, "local", rows, xvit.width());
  FeedForward(builder, rows, rows, xvit.width(), xvit.mlp_width());
  AffineAndAdd(builder, "feed_forward", rows, xvit.width());
}

// Only the class token changes.
void ClassBlock(Builder& builder, const v1::XVitConfig& xvit) {
  const int64_t images = builder.images();
  const int64_t n = builder.grid().cells() + 1;
  builder.LayerNorm("norm", builder.tokens(), xvit.width());
  if (!builder.published()) builder.Elementwise(OperatorKind::kConcatenate, "join", builder.tokens(), xvit.width());
  builder.Within("attention", [&] {
    builder.Linear("q", images, xvit.width(), xvit.attention_width());
    builder.Linear("kv", builder.tokens(), xvit.width(), 2 * int64_t{xvit.attention_width()});
    MixByContext(builder, xvit, 1, n);
    builder.Linear("proj", images, xvit.attention_width(), xvit.width());
  });
  AffineAndAdd(builder, "attention", images, xvit.width());
  FeedForward(builder, images, images, xvit.width(), xvit.mlp_width());
  AffineAndAdd(builder, "feed_forward", images, xvit.width());
}

}  // namespace

void DescribeXVit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder) {
  const v1::XVitConfig& xvit = config.xvit();
  ConvolutionalStem(builder, input, config.preprocessing().channels(), xvit.patch(), xvit.width());
  builder.Enter(ModelPart::kBlock);
  for (int i = 0; i < xvit.depth(); ++i) {
    builder.Within(absl::StrCat("blocks.", i), [&] { TokenBlock(builder, xvit); });
  }
  ExpandClassToken(builder, xvit.width());
  for (int i = 0; i < xvit.class_depth(); ++i) {
    builder.Within(absl::StrCat("class_blocks.", i), [&] { ClassBlock(builder, xvit); });
  }
  NormAndHead(builder, xvit.width(), config.classes());
}

}  // namespace vitrine::workload
