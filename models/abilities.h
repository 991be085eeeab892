// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ABILITIES_H_
#define VITRINE_MODELS_ABILITIES_H_

#include <vector>

#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// Which of a model's attentions a matrix belongs to. Layers are counted within each.
enum class AttentionSource {
  kTokens,      // tokens attend to tokens: [heads, n, n]
  kClassQuery,  // the class token attends to all tokens: [heads, 1, 1 + cells]
  kChannels,    // channels of q against channels of k, XCiT: [heads, d_h, d_h]
};

// What a model can be asked for as attention.
struct AttentionAbility {
  struct Offer {
    v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
    AttentionSource source = AttentionSource::kTokens;
    int layers = 0;
    int heads = 0;
  };
  std::vector<Offer> offers = {};
  int prefix_tokens = 0;   // keys of kTokens before the grid (class token)
  int cell = 0;            // pixels of the input per grid cell, the unit of distances
  int channels = 0;        // d_h of kChannels
  bool diverging = false;  // the maps have both signs (X-ViT)

  // Null if the model lacks it.
  const Offer* Find(v1::AttentionKind kind) const;
};

// What a model can be asked for as features.
struct FeatureAbility {
  std::vector<v1::FeatureKind> kinds = {};
  int width = 0;  // channels of a token before the head
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ABILITIES_H_
