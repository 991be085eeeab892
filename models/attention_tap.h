// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_TAP_H_
#define VITRINE_MODELS_ATTENTION_TAP_H_

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/abilities.h"
#include "models/float_array.h"

namespace vitrine {

// Which attention matrices a forward pass shall hand out, and where they land.
//
// Attention layers ask Wants(image, source, layer) and compute the explicit matrix for those images alone; batch mates
// keep the fused path. Not thread-safe: one tap per forward pass.
class AttentionTap {
 public:
  // What one layer hands out for one image, of the shape that its source has. A model without softmax gives the factors
  // instead of the matrices, so that a mean over queries stays linear in the tokens; the others are empty.
  struct Matrices {
    FloatArray scores;   // before the softmax, as the softmax sees them; for KV+Pos the symmetric part, before g(j)
    FloatArray weights;  // after the softmax
    FloatArray queries;  // [heads, queries, d_h]: weights are queries keys^T, of both signs
    FloatArray keys;     // [heads, n, d_h]
  };

  void Request(int image, AttentionSource source, int layer) { wanted_.insert({image, source, layer}); }
  bool Wants(int image, AttentionSource source, int layer) const { return wanted_.contains({image, source, layer}); }
  bool empty() const { return wanted_.empty(); }
  void Put(int image, AttentionSource source, int layer, Matrices matrices) {
    taken_[{image, source, layer}] = std::move(matrices);
  }
  // Null where nothing was put.
  const Matrices* Find(int image, AttentionSource source, int layer) const {
    const auto found = taken_.find({image, source, layer});
    return found == taken_.end() ? nullptr : &found->second;
  }

 private:
  using Key = std::tuple<int, AttentionSource, int>;  // image, source, layer
  std::set<Key> wanted_;
  std::map<Key, Matrices> taken_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_TAP_H_
