// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_PARTS_H_
#define VITRINE_MODELS_FAMILIES_PARTS_H_

#include "models/program/builder.h"

namespace vitrine {

// What several families are made of. Branches are what a residual adds: x is normalised already or by the part itself,
// as said.

// Patches of patch x patch pixels through one dense layer (ViT): scope "patches".
program::Value LinearPatches(program::Builder& b, int patch, int64_t width);

// XCiT's patch projection: 3x3 convolutions of stride 2 without bias, each with BatchNorm, GELU between them; widths
// double up to `width`. Four for patches of 16 pixels, three for 8. Scope "stem".
program::Value ConvolutionStem(program::Builder& b, int patch, int64_t width);

// Multi-head softmax attention of all tokens, projections with biases, scope "attention": a branch of u = LN(x).
program::Value SelfAttention(program::Builder& b, program::Value u, int heads);

// 1 / sqrt(columns / heads).
double AttentionScale(int64_t columns, int heads);

// fc2(GELU(fc1(u))), a branch. Within scope "feed_forward".
program::Value Mlp(program::Builder& b, program::Value u, int64_t hidden);
// The same of u = LN(x), with scope and norm.
program::Value FeedForward(program::Builder& b, program::Value x, int64_t hidden, double norm_epsilon);

// Depthwise 3x3, GELU, BatchNorm, depthwise 3x3 of LN(x) (XCiT), scope "local": a branch.
program::Value LocalPatchInteraction(program::Builder& b, program::Value x, double norm_epsilon);

// The output layer of attention, "proj", and its dropout.
program::Value Project(program::Builder& b, program::Value mixed, int64_t width, const char* name = "proj");

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_PARTS_H_
