// SPDX-License-Identifier: Apache-2.0
#include "models/workload/layers.h"

#include "absl/strings/str_cat.h"

namespace vitrine::workload {

void LinearPatches(Builder& builder, int channels, int patch, int width) {
  builder.Linear("patches.proj", builder.cells(), int64_t{channels} * patch * patch, width);
}

void ClassToken(Builder& builder, int width) {
  builder.Elementwise(OperatorKind::kConcatenate, "class_token", builder.tokens(), width, width);
}

void ExpandClassToken(Builder& builder, int width) {
  if (builder.published()) return ClassToken(builder, width);
  builder.Elementwise(OperatorKind::kConcatenate, "class_token", builder.images(), width, width);
}

void ClassTokenAndPositions(Builder& builder, Grid table, int width) {
  ClassToken(builder, width);
  if (!builder.published() && builder.grid() != table) {
    builder.Matmul("positions.interpolation", 1, builder.grid().cells(), table.cells(), width);
  }
  builder.Add("positions", builder.tokens(), width).parameters = (table.cells() + 1) * width;
}

void MixTokens(Builder& builder, int heads, int64_t head_width) {
  const int64_t n = builder.grid().cells() + 1;
  if (!builder.published()) {
    builder.Attention("mix", heads, n, n, head_width);
    return;
  }
  const int64_t batch = builder.images() * heads;
  builder.Matmul("scores", batch, n, head_width, n);
  builder.Elementwise(OperatorKind::kScale, "scale", batch * n, n);
  builder.Elementwise(OperatorKind::kSoftmax, "softmax", batch * n, n);
  builder.Matmul("values", batch, n, n, head_width);
}

void SelfAttention(Builder& builder, int width, int heads) {
  builder.Within("attention", [&] {
    builder.Linear("qkv", builder.tokens(), width, 3 * int64_t{width});
    MixTokens(builder, heads, width / heads);
    builder.Linear("proj", builder.tokens(), width, width);
  });
}

void FeedForward(Builder& builder, int64_t rows, int64_t norm_rows, int width, int hidden) {
  builder.Within("feed_forward", [&] {
    builder.LayerNorm("norm", norm_rows, width);
    builder.LinearGelu("fc1", rows, width, hidden);
    builder.Linear("fc2", rows, hidden, width);
  });
}

void ConvolutionalStem(Builder& builder, const WorkloadInput& input, int channels, int cell, int width) {
  int halvings = 0;
  for (int side = cell; side > 1; side /= 2) ++halvings;
  int height = input.height / cell * cell;
  int columns = input.width / cell * cell;
  int64_t inputs = channels;
  builder.Within("stem", [&] {
    for (int i = 0; i < halvings; ++i) {
      const int64_t outputs = width >> (halvings - 1 - i);
      Operator& convolution =
          builder.Convolution(absl::StrCat("convolution.", i),
                              {.inputs = inputs, .outputs = outputs, .height = height, .width = columns, .stride = 2});
      if (!builder.published()) {
        convolution.has_bias = true;  // batch norm, folded in; its parameters are trained all the same
        convolution.parameters += 2 * outputs;
      }
      height /= 2;
      columns /= 2;
      const int64_t pixels = builder.images() * height * columns;
      if (builder.published()) {
        builder.Elementwise(OperatorKind::kBatchNorm, absl::StrCat("norm.", i), pixels, outputs, 2 * outputs);
      }
      if (i + 1 < halvings) builder.Gelu(absl::StrCat("gelu.", i), pixels, outputs);
      inputs = outputs;
    }
  });
  constexpr int kFourierChannels = 64;
  // The encoding depends on the grid alone: one image's is that of all.
  builder.Linear("positions.proj", builder.published() ? builder.cells() : builder.grid().cells(), kFourierChannels,
                 width);
  builder.Add("positions", builder.cells(), width);
}

void LocalPatchInteraction(Builder& builder, int width) {
  builder.Within("local", [&] {
    builder.LayerNorm("norm", builder.cells(), width);
    Operator& first = builder.GridConvolution("convolution1", width, width, width, /*bias=*/true);
    if (builder.published()) {
      builder.Gelu("gelu", builder.cells(), width);
      builder.Elementwise(OperatorKind::kBatchNorm, "batch_norm", builder.cells(), width, 2 * int64_t{width});
    } else {
      first.gelu = true;
      first.batch_norm = true;
      first.parameters += 2 * int64_t{width};
    }
    builder.GridConvolution("convolution2", width, width, width, /*bias=*/true);
  });
}

void NormAndHead(Builder& builder, int width, int classes) {
  builder.Enter(ModelPart::kHead);
  builder.LayerNorm("norm", builder.head_rows(), width);
  builder.Linear("head", builder.images(), width, classes);
}

}  // namespace vitrine::workload
