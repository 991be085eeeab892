// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ABILITIES_H_
#define VITRINE_MODELS_ABILITIES_H_

#include <vector>

#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// Kind of matrix from which an attention map is made. Layers are numbered separately for each kind.
enum class AttentionSource {
  kTokens,      // from tokens to tokens: [heads, n, n]
  kClassQuery,  // from the class token to all tokens: [heads, 1, 1 + cells]
  kChannels,    // from channels of q to channels of k (XCiT): [heads, d_h, d_h]
};

// Attention that a model can return.
struct AttentionAbility {
  struct Offer {
    v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
    AttentionSource source = AttentionSource::kTokens;
    int layers = 0;
    int heads = 0;
  };
  std::vector<Offer> offers = {};
  int prefix_tokens = 0;   // number of tokens before the grid in the keys of kTokens: class tokens, then registers
  int registers = 0;       // number of registers, the last prefix tokens; no head reads them
  int cell = 0;            // side of a grid cell in input pixels
  int channels = 0;        // d_h, for kChannels only
  bool diverging = false;  // maps have positive and negative values (X-ViT)

  // Returns null if the model does not offer the kind.
  const Offer* Find(v1::AttentionKind kind) const;
};

// Features that a model can return.
struct FeatureAbility {
  std::vector<v1::FeatureKind> kinds = {};
  int width = 0;       // number of channels of a token before the head
  int registers = 0;   // number of vectors of REGISTER_TOKENS
  int projection = 0;  // number of channels of PROJECTION
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ABILITIES_H_
