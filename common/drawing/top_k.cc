// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/top_k.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace vitrine {

std::vector<ScoredClass> TopK(std::span<const float> logits, int k, double temperature) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int a, int b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });

  // The largest logit is subtracted so that every exponential is within [0, 1].
  const double largest = logits[order.front()];
  const auto relative = [&](float logit) { return std::exp((logit - largest) / temperature); };
  double sum = 0;
  for (const float logit : logits) sum += relative(logit);

  std::vector<ScoredClass> best(static_cast<size_t>(k));
  for (size_t i = 0; i < best.size(); ++i) {
    const float logit = logits[order[i]];
    best[i] = {.index = order[i], .probability = static_cast<float>(relative(logit) / sum), .logit = logit};
  }
  return best;
}

}  // namespace vitrine
