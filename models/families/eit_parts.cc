// SPDX-License-Identifier: Apache-2.0
#include "models/families/eit_parts.h"

namespace vitrine {

using program::Builder;
using program::Value;

Value EitTokens(Builder& b, Value patches, Grid table, int depth) {
  const program::Initial initial = {program::Initial::Kind::kTruncatedNormal, 0.02};
  b.DrawsFirst({"patches", "blocks", "head", "class_token", "positions"});
  Value x = b.JoinClass("join", b.ClassToken("class_token", b.columns(patches), initial), patches);
  if (table.cells() > 0) x = b.TablePosition("positions", x, table, initial);
  x = b.Drop(x, program::Drop::Place::kPositions, depth * Builder::kSitesPerBlock);
  b.Enter(program::Part::kBlock);
  return x;
}

program::Program EitHead(Builder& b, Value x, int classes) {
  b.Enter(program::Part::kHead);
  x = b.LayerNorm("norm", x, kEitNormEpsilon);
  b.FinalTokens(x);
  return b.Take(b.Linear("head", b.TakeClass(x), classes));
}

}  // namespace vitrine
