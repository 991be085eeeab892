// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_FORWARD_CONTEXT_H_
#define VITRINE_REFERENCE_FORWARD_CONTEXT_H_

#include <cstdint>
#include <optional>

#include "models/attention_tap.h"
#include "models/token_tap.h"

namespace vitrine {

// Probabilities that a value is dropped, by place; in steps of 1/256, below 1. Only while training.
struct DropRates {
  float position = 0;    // behind the positions
  float projection = 0;  // behind the output layer of attention
  float mlp = 0;         // in feed-forward blocks: behind the activation and at the end
  // Attention weights. Unset: none, but for a sequence model whose config drops them, at `projection`.
  std::optional<float> attention = std::nullopt;

  // Recipe.dropout: one rate everywhere but for attention weights.
  static DropRates Uniform(float rate) { return {.position = rate, .projection = rate, .mlp = rate}; }
};

// What a forward pass needs beside its input.
struct ForwardContext {
  bool training = false;        // dropout is active, BatchNorm takes the batch's statistics
  AttentionTap* tap = nullptr;  // null: no attention is captured
  TokenTap* tokens = nullptr;   // null: no tokens are handed out
  // Operands of linear layers and convolutions are rounded to bf16, forward and backward, and so are their products.
  // All other arithmetic, the residual stream, parameters and gradients stay fp32; with gradients on a CPU values lie
  // in memory as bf16 between two products. Twice as fast where the CPU has AVX512_BF16, slower elsewhere.
  bool bf16 = false;
  DropRates dropout = {};
  // Probability, below 1, that an image leaves out a residual branch: see DropPath. Only while training.
  float drop_path = 0;
  // Chooses what is dropped: equal seeds drop equally whatever the thread count. Give every step its own.
  uint64_t dropout_seed = 0;
  // Which images these are of a batch that several replicas share: every image_stride-th from first_image on. An image
  // leaves out the same branches however many replicas there are; single values it drops differ.
  int64_t first_image = 0;
  int64_t image_stride = 1;
  // BatchNorm's running statistics follow a batch in training. Off for all but one of several replicas that share them.
  bool update_statistics = true;
  // Library calls in place of our own loops, on the CPU as on every other device. For tests.
  bool library_only = false;

  // For every count-th image from the part-th on.
  ForwardContext Share(int part, int count) const {
    ForwardContext share = *this;
    share.first_image += part * image_stride;
    share.image_stride *= count;
    return share;
  }

  bool WantsTokens(int stage) const { return tokens != nullptr && tokens->Wants(stage); }
};

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_FORWARD_CONTEXT_H_
