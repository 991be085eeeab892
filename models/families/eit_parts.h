// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_EIT_PARTS_H_
#define VITRINE_MODELS_FAMILIES_EIT_PARTS_H_

#include "models/families/parts.h"

namespace vitrine {

// Parts shared by EIT and its baselines: ViT's tokens and head, and a block with a given mixer.

inline constexpr double kEitNormEpsilon = 1e-6;

// Adds the class token, learned positions (none if the table is empty) and dropout, all before the blocks.
program::Value EitTokens(program::Builder& b, program::Value patches, Grid table, int depth);

// Returns y + MLP(LN(y)), with y = x + mix(LN(x)).
template <class Mix>
program::Value SplitBlock(program::Builder& b, program::Value x, int64_t hidden, const Mix& mix) {
  x = b.Residual("add", x, mix(b.LayerNorm("norm", x, kEitNormEpsilon)), b.site() + 2);
  return b.Residual("feed_forward.add", x, FeedForward(b, x, hidden, kEitNormEpsilon), b.site());
}

// Applies `body` to the cells; class tokens pass through unchanged.
template <class Body>
program::Value OnCells(program::Builder& b, program::Value tokens, const Body& body) {
  const program::Value passing = b.TakeClass(tokens);
  return b.JoinClass("join", passing, body(b.TakeCells(tokens)));
}

// Adds the norm and a linear head on the class token.
program::Program EitHead(program::Builder& b, program::Value x, int classes);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_EIT_PARTS_H_
