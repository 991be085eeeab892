#ifndef VITRINE_MODELS_FORWARD_CONTEXT_H_
#define VITRINE_MODELS_FORWARD_CONTEXT_H_

#include <cstdint>

#include "models/attention_tap.h"
#include "models/token_tap.h"

namespace vitrine {

// What a forward pass needs beside its input.
struct ForwardContext {
  bool training = false;        // dropout is active, BatchNorm takes the batch's statistics
  AttentionTap* tap = nullptr;  // null: no attention is captured
  TokenTap* tokens = nullptr;   // null: no tokens are handed out
  // Operands of linear layers and convolutions are rounded to bf16, forward and backward; their results, all other
  // arithmetic, parameters and gradients stay fp32. Twice as fast where the CPU has AVX512_BF16, slower elsewhere.
  bool bf16 = false;
  // Probability that a value is dropped, in steps of 1/256, below 1. Only while training.
  float dropout = 0;
  // Chooses what is dropped: equal seeds drop equally whatever the thread count. Give every step its own.
  uint64_t dropout_seed = 0;
  // BatchNorm's running statistics follow a batch in training. Off for all but one of several replicas that share them.
  bool update_statistics = true;
  // Library calls in place of our own loops, on the CPU as on every other device. For tests.
  bool library_only = false;

  bool WantsTokens(int stage) const { return tokens != nullptr && tokens->Wants(stage); }
  // Hands out the tokens after a block, counted from 0, if somebody asked.
  void HandOut(int stage, const PackedTokens& x) const {
    if (WantsTokens(stage)) tokens->Put(stage, x);
  }
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_FORWARD_CONTEXT_H_
