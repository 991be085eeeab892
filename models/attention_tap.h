#ifndef VITRINE_MODELS_ATTENTION_TAP_H_
#define VITRINE_MODELS_ATTENTION_TAP_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace vitrine {

// Which attention matrices a forward pass shall hand out, and where they land.
//
// Attention layers ask Wants(image, layer) and compute the explicit matrix for those images alone; batch mates keep the
// fused path. Not thread-safe: one tap per forward pass.
class AttentionTap {
 public:
  // What one layer hands out for one image. Both are [heads, n, n] fp32 on the CPU, n = prefix + grid cells.
  struct Matrices {
    at::Tensor scores;   // before the softmax, as the softmax sees them; for KV+Pos the symmetric part, before g(j)
    at::Tensor weights;  // after the softmax
  };

  void Request(int image, int layer) { wanted_.insert({image, layer}); }
  bool Wants(int image, int layer) const { return wanted_.contains({image, layer}); }
  bool empty() const { return wanted_.empty(); }
  void Put(int image, int layer, Matrices matrices) { taken_[{image, layer}] = std::move(matrices); }
  // Null where nothing was put.
  const Matrices* Find(int image, int layer) const {
    const auto found = taken_.find({image, layer});
    return found == taken_.end() ? nullptr : &found->second;
  }

 private:
  std::set<std::pair<int, int>> wanted_;
  std::map<std::pair<int, int>, Matrices> taken_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_TAP_H_
