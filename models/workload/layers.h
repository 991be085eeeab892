// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_LAYERS_H_
#define VITRINE_MODELS_WORKLOAD_LAYERS_H_

#include <string>

#include "models/workload/builder.h"

namespace vitrine::workload {

// Layers that several families share, as lists of operators.

// Patches of patch x patch pixels through one dense layer.
void LinearPatches(Builder& builder, int channels, int patch, int width);
// The class token before the patch tokens, and the learned position table of `table` cells plus it. Other grids are
// reached by a product with an interpolation matrix.
void ClassTokenAndPositions(Builder& builder, Grid table, int width);
// The class token alone.
void ClassToken(Builder& builder, int width);
// The class token of class-attention blocks: in the executed form it stays beside the patch tokens.
void ExpandClassToken(Builder& builder, int width);

// softmax(q k^T scale) v per image and head, from projections that exist: one fused operator in the executed form.
void MixTokens(Builder& builder, int heads, int64_t head_width);
// "attention": multi-head softmax attention of all tokens with biases, norm and residual not included.
void SelfAttention(Builder& builder, int width, int heads);

// "feed_forward": norm, fc1, GELU, fc2. The residual is not included.
void FeedForward(Builder& builder, int64_t rows, int64_t norm_rows, int width, int hidden);

// "stem": convolutions 3x3 of stride 2 without bias, each with batch norm, GELU between; four for cells of 16 pixels,
// three for 8. "positions": the Fourier encoding through a dense layer 64 -> width, and its addition.
void ConvolutionalStem(Builder& builder, const WorkloadInput& input, int channels, int cell, int width);
// "local": norm, depthwise 3x3, GELU, batch norm, depthwise 3x3, on patch tokens.
void LocalPatchInteraction(Builder& builder, int width);

// The norm of what the head reads and one dense layer.
void NormAndHead(Builder& builder, int width, int classes);

}  // namespace vitrine::workload

#endif  // VITRINE_MODELS_WORKLOAD_LAYERS_H_
