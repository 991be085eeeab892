// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_EIT_PARTS_H_
#define VITRINE_MODELS_FAMILIES_EIT_PARTS_H_

#include "models/families/parts.h"

namespace vitrine {

// What EIT and the models that it is compared with share: ViT's frame, and a block that mixes as the caller says.

inline constexpr double kEitNormEpsilon = 1e-6;

// Class token, learned positions (none with an empty table) and their dropout; what follows are the blocks.
program::Value EitTokens(program::Builder& b, program::Value patches, Grid table, int depth);

// x + mix(LN(x)), then x + MLP(LN(x)).
template <class Mix>
program::Value SplitBlock(program::Builder& b, program::Value x, int64_t hidden, const Mix& mix) {
  x = b.Residual("add", x, mix(b.LayerNorm("norm", x, kEitNormEpsilon)), b.site() + 2);
  return b.Residual("feed_forward.add", x, FeedForward(b, x, hidden, kEitNormEpsilon), b.site());
}

// `body` of the cells; the class tokens pass by.
template <class Body>
program::Value OnCells(program::Builder& b, program::Value tokens, const Body& body) {
  const program::Value passing = b.TakeClass(tokens);
  return b.JoinClass("join", passing, body(b.TakeCells(tokens)));
}

// Norm and a linear head on the class token.
program::Program EitHead(program::Builder& b, program::Value x, int classes);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_EIT_PARTS_H_
