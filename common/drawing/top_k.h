// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_TOP_K_H_
#define VITRINE_COMMON_DRAWING_TOP_K_H_

#include <span>
#include <vector>

namespace vitrine {

struct ScoredClass {
  int index = 0;
  float probability = 0;  // softmax of logit / temperature over all classes, computed in double
  float logit = 0;
};

// Returns the k classes with the highest logits, highest first; equal logits by ascending index. Requires 1 <= k <=
// logits.size(), finite logits and a temperature above 0.
std::vector<ScoredClass> TopK(std::span<const float> logits, int k, double temperature = 1);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_TOP_K_H_
