// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOKEN_TAP_H_
#define VITRINE_MODELS_TOKEN_TAP_H_

#include <map>
#include <set>
#include <utility>

#include "models/packed_tokens.h"

namespace vitrine {

// Which tokens a forward pass shall hand out: those that the head reads, for features, or those after a block, for
// tests and comparisons. Not thread-safe: one tap per forward pass.
class TokenTap {
 public:
  // All tokens as the head sees its own: after the last norm, where the model has one.
  static constexpr int kFinal = -1;

  // `stage` is a block, counted from 0 over all kinds of block, or kFinal.
  void Request(int stage) { wanted_.insert(stage); }
  bool Wants(int stage) const { return wanted_.contains(stage); }
  void Put(int stage, PackedTokens tokens) { taken_[stage] = std::move(tokens); }
  // Null where nothing was put. `data` may have rows of padding after the layout's last token.
  const PackedTokens* Find(int stage) const {
    const auto found = taken_.find(stage);
    return found == taken_.end() ? nullptr : &found->second;
  }

 private:
  std::set<int> wanted_;
  std::map<int, PackedTokens> taken_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOKEN_TAP_H_
