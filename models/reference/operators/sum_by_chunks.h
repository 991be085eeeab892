// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_SUM_BY_CHUNKS_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_SUM_BY_CHUNKS_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace vitrine {

// Number of rows that are added up in one fp32 accumulator; small enough that sums over a million rows stay accurate.
inline constexpr int64_t kRowsOfAChunk = 4096;

// Splits `items` items into chunks. For each chunk, add(first, count, sums) adds up the chunk in `sums`, which start as
// zeros with the shapes of `totals`; these sums are then added to `totals`. If a total is undefined, its sums are
// undefined too.
template <size_t kSums, class Add>
void SumByChunks(int64_t items, int64_t chunk, const std::array<at::Tensor, kSums>& totals, const Add& add) {
  for (int64_t first = 0; first < items; first += chunk) {
    std::array<at::Tensor, kSums> sums;
    for (size_t i = 0; i < kSums; ++i) sums[i] = totals[i].defined() ? at::zeros_like(totals[i]) : at::Tensor();
    add(first, std::min(chunk, items - first), sums);
    for (size_t i = 0; i < kSums; ++i) {
      if (totals[i].defined()) totals[i].add_(sums[i]);
    }
  }
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_SUM_BY_CHUNKS_H_
