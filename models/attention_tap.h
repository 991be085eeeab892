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

// Selects the attention matrices that a forward pass returns, and stores them.
//
// Attention layers call Wants(image, source, layer) and compute the explicit matrix of the selected images only; other
// images in the batch use the fused path. Not thread-safe: one tap per forward pass.
class AttentionTap {
 public:
  // Attention of one layer for one image. AttentionSource states the shapes of `scores` and `weights`. A model without
  // softmax fills `queries` and `keys` instead of `weights`, so that a mean over queries takes time linear in the
  // number of tokens. Unused arrays are empty.
  struct Matrices {
    FloatArray scores;   // input of the softmax; for KV+Pos without the offsets g(j) (map_position.h)
    FloatArray weights;  // output of the softmax
    FloatArray queries;  // [heads, queries, d_h]; weights = queries keys^T may be negative
    FloatArray keys;     // [heads, n, d_h]
  };

  void Request(int image, AttentionSource source, int layer) { wanted_.insert({image, source, layer}); }
  bool Wants(int image, AttentionSource source, int layer) const { return wanted_.contains({image, source, layer}); }
  bool empty() const { return wanted_.empty(); }
  void Put(int image, AttentionSource source, int layer, Matrices matrices) {
    taken_[{image, source, layer}] = std::move(matrices);
  }
  // Returns the stored matrices; null if there are none.
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
