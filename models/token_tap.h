// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOKEN_TAP_H_
#define VITRINE_MODELS_TOKEN_TAP_H_

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "models/float_array.h"
#include "models/token_layout.h"

namespace vitrine {

// Selects the tokens that a forward pass returns, and stores them. A request for features uses the projection, or the
// tokens that the head reads. Tests and comparisons use the tokens after a block. Not thread-safe: one tap per forward
// pass.
class TokenTap {
 public:
  // All tokens as the head reads them: after the last norm, if the model has one.
  static constexpr int kFinal = -1;
  // The projected class token, one row per image (Program::projection).
  static constexpr int kProjection = -2;

  struct Tokens {
    FloatArray data;  // [tokens, width], image by image; [images, width] for kProjection
    std::shared_ptr<const TokenLayout> layout;
  };

  // Requests the tokens of a stage: kFinal, kProjection, or the index of a block among blocks of all kinds.
  void Request(int stage) { wanted_.insert(stage); }
  const std::set<int>& wanted() const { return wanted_; }
  bool Wants(int stage) const { return wanted_.contains(stage); }
  void Put(int stage, Tokens tokens) { taken_[stage] = std::move(tokens); }
  // Returns the stored tokens; null if there are none.
  const Tokens* Find(int stage) const {
    const auto found = taken_.find(stage);
    return found == taken_.end() ? nullptr : &found->second;
  }

 private:
  std::set<int> wanted_;
  std::map<int, Tokens> taken_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOKEN_TAP_H_
