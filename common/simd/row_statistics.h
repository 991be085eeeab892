// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_ROW_STATISTICS_H_
#define VITRINE_COMMON_SIMD_ROW_STATISTICS_H_

#include <cstdint>

#include "common/simd/four.h"

// Templates for files that are compiled for one instruction set; see gelu.h.
namespace vitrine::cpu {

// Combines the lanes of each vector. If there is only one vector, all four numbers are its result.
template <class V, int kRows, class Combine>
[[gnu::always_inline]] inline Four AcrossEach(const typename V::Reg (&v)[kRows], Combine combine) {
  if constexpr (kRows == 4) {
    return V::Across(v, combine);
  } else {
    static_assert(kRows == 1);
    const float result = V::Across(v[0], combine);
    return Four{result, result, result, result};
  }
}

// Returns the sums of value(row, x) over each of kRows rows, which are `stride` floats apart. Two running sums per row
// let additions overlap. The order of additions depends only on `columns`, so the bits of a row's sum do not depend on
// other rows.
template <class V, int kRows, class Value>
[[gnu::always_inline]] inline Four SumsOfRows(const float* x, int64_t stride, int64_t columns, Value value) {
  typename V::Reg even[kRows], odd[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) even[r] = odd[r] = V::Broadcast(0);
  int64_t j = 0;
  for (; j + 2 * V::kLanes <= columns; j += 2 * V::kLanes) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      even[r] = V::Add(even[r], value(r, V::Load(x + r * stride + j)));
      odd[r] = V::Add(odd[r], value(r, V::Load(x + r * stride + j + V::kLanes)));
    }
  }
  for (; j + V::kLanes <= columns; j += V::kLanes) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) even[r] = V::Add(even[r], value(r, V::Load(x + r * stride + j)));
  }
  if (const int64_t rest = columns - j; rest > 0) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      odd[r] = V::Add(odd[r], V::KeepFirst(value(r, V::LoadPart(x + r * stride + j, rest)), rest));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) even[r] = V::Add(even[r], odd[r]);
  return AcrossEach<V, kRows>(even, V::Add);
}

// Mean (`center`) and 1 / sqrt(variance + epsilon) (`scale`) of each row, computed in two passes.
struct RowStatistics {
  Four center;
  Four scale;
};
template <class V, int kRows>
[[gnu::always_inline]] inline RowStatistics StatisticsOf(const float* rows, int64_t stride, int64_t columns,
                                                         float epsilon) {
  const Four sums = SumsOfRows<V, kRows>(rows, stride, columns, [](int, auto v) { return v; });
  const Four center = sums / static_cast<float>(columns);
  typename V::Reg centers[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) centers[r] = V::Broadcast(center[r]);
  const Four squares = SumsOfRows<V, kRows>(rows, stride, columns, [&centers](int r, auto v) {
    const auto distance = V::Sub(v, centers[r]);
    return V::Mul(distance, distance);
  });
  return {.center = center, .scale = 1 / RootOf(squares / static_cast<float>(columns) + epsilon)};
}

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_ROW_STATISTICS_H_
