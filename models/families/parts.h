// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_PARTS_H_
#define VITRINE_MODELS_FAMILIES_PARTS_H_

#include "models/program/builder.h"

namespace vitrine {

// Parts that several families share. A "branch" is the value that a residual connection adds to its input. Each comment
// states whether the input u of the branch is already normalised.

// Projects patches of patch x patch pixels by one dense layer (ViT), in the scope "patches".
program::Value LinearPatches(program::Builder& b, int patch, int64_t width, bool bias = true);

// Adds XCiT's patch projection in the scope "stem": 3x3 convolutions of stride 2 without bias, each with BatchNorm, and
// GELU between them. The widths double from one convolution to the next, up to `width`. Patches of 16 pixels use four
// convolutions, patches of 8 pixels three.
program::Value ConvolutionStem(program::Builder& b, int patch, int64_t width);

// Returns a branch in the scope "attention": softmax attention among all tokens, with biases in its linear layers; u is
// already normalised.
program::Value SelfAttention(program::Builder& b, program::Value u, int heads);

// Returns 1 / sqrt(columns / heads).
double AttentionScale(int64_t columns, int heads);

using Activation = program::Activate::Function;
// Returns a branch: fc2(activation(fc1(u))); u is already normalised. Must be called within scope "feed_forward".
program::Value Mlp(program::Builder& b, program::Value u, int64_t hidden, Activation activation = Activation::kGelu);
// Returns a branch: Mlp(LN(x)). Adds the norm and the scope "feed_forward".
program::Value FeedForward(program::Builder& b, program::Value x, int64_t hidden, double norm_epsilon,
                           Activation activation = Activation::kGelu);

// Returns a branch: XCiT's local patch interaction, in the scope "local". It consists of LN, depthwise 3x3 convolution,
// GELU, BatchNorm and another depthwise 3x3 convolution, in this order.
program::Value LocalPatchInteraction(program::Builder& b, program::Value x, double norm_epsilon);

// Adds the output layer of attention, "proj", and its dropout.
program::Value Project(program::Builder& b, program::Value mixed, int64_t width, const char* name = "proj");

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_PARTS_H_
