// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_FORWARD_CONTEXT_H_
#define VITRINE_MODELS_REFERENCE_FORWARD_CONTEXT_H_

#include <cstdint>
#include <optional>

#include "models/attention_tap.h"
#include "models/token_tap.h"

namespace vitrine {

// Dropout probabilities by position in the model, below 1, in steps of 1/256. Used only in training.
struct DropRates {
  float position = 0;    // after the positions are added
  float projection = 0;  // after the output layer of attention
  float mlp = 0;         // in feed-forward blocks: after the activation and at the end
  // Rate for attention weights. If it is not set, the rate is 0, except in sequence models (trainer/lab) that drop
  // attention weights: these models then use `projection`.
  std::optional<float> attention = std::nullopt;

  // Returns the rates for Recipe.dropout: the same rate everywhere except for attention weights.
  static DropRates Uniform(float rate) { return {.position = rate, .projection = rate, .mlp = rate}; }
};

// Options of a forward pass.
struct ForwardContext {
  bool training = false;        // enables dropout and BatchNorm's batch statistics
  AttentionTap* tap = nullptr;  // null: no attention is returned
  TokenTap* tokens = nullptr;   // null: no tokens are returned
  // Rounds operands and results of linear layers and convolutions to bf16, forward and backward, except in
  // ConvolveDepthwise, ConvolveAndPool and the layer that computes logits. All other arithmetic, the residual stream,
  // parameters and their gradients stay fp32. On a CPU with autograd enabled, some values are also stored as bf16:
  // values that are read only by linear layers, convolutions and similar operators (operands.h). bf16 is twice as fast
  // as fp32 on CPUs with AVX512_BF16, and slower than fp32 on other CPUs.
  bool bf16 = false;
  DropRates dropout = {};
  // Probability, below 1, that an image skips a residual branch (see DropPath). Used only in training.
  float drop_path = 0;
  // If true, the probability rises linearly from 0 in the first block to `drop_path` in the last block.
  bool drop_path_by_depth = false;
  // Seed of dropout. Equal seeds drop the same values for any thread count. Use a new seed for every training step.
  uint64_t dropout_seed = 0;
  // Images of the shared batch that this replica computes: every image_stride-th image, starting with image
  // first_image. The number of replicas does not change the images that stochastic depth drops, but it changes the
  // values that dropout drops.
  int64_t first_image = 0;
  int64_t image_stride = 1;
  // Updates BatchNorm's running statistics in training. If several replicas share the statistics, set this for one
  // replica only.
  bool update_statistics = true;
  // Uses library calls instead of our own loops, also on the CPU. Only tests set this.
  bool library_only = false;

  // Returns the context of replica `part` of `count`, which computes every count-th image, starting with `part`.
  ForwardContext Share(int part, int count) const {
    ForwardContext share = *this;
    share.first_image += part * image_stride;
    share.image_stride *= count;
    return share;
  }

  bool WantsTokens(int stage) const { return tokens != nullptr && tokens->Wants(stage); }
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_FORWARD_CONTEXT_H_
