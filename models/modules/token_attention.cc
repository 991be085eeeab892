// SPDX-License-Identifier: Apache-2.0
#include "models/modules/modules.h"

namespace vitrine {

AttentionAbility TokenAttention(const std::vector<v1::AttentionKind>& kinds, int layers, int heads,
                                const Model& model) {
  AttentionAbility ability{.offers = {}, .prefix_tokens = model.prefix_tokens(), .cell = model.cell()};
  for (const v1::AttentionKind kind : kinds) {
    ability.offers.push_back({.kind = kind, .source = AttentionSource::kTokens, .layers = layers, .heads = heads});
  }
  return ability;
}

}  // namespace vitrine
