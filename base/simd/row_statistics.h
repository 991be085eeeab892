// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_ROW_STATISTICS_H_
#define VITRINE_BASE_SIMD_ROW_STATISTICS_H_

#include <cstdint>

// Included by one file per instruction set; see gelu.h.
namespace vitrine::cpu {

// Sums over kRows rows, `stride` floats apart, of value(row, x). Two running sums a row, so that additions overlap;
// their order depends on `columns` alone, so that a row's sum is the same bits beside any others.
template <class V, int kRows, class Value>
[[gnu::always_inline]] inline void SumsOfRows(const float* x, int64_t stride, int64_t columns, Value value,
                                              float (&sums)[kRows]) {
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
  for (int r = 0; r < kRows; ++r) sums[r] = V::Sum(V::Add(even[r], odd[r]));
}

// Mean and 1 / sqrt(variance + epsilon) of rows, as vectors; the mean is taken before the variance.
template <class V, int kRows>
struct RowStatistics {
  typename V::Reg center[kRows];
  typename V::Reg scale[kRows];
};
template <class V, int kRows>
[[gnu::always_inline]] inline RowStatistics<V, kRows> StatisticsOf(const float* rows, int64_t stride, int64_t columns,
                                                                   float epsilon) {
  RowStatistics<V, kRows> statistics;
  float sums[kRows];
  SumsOfRows<V>(
      rows, stride, columns, [](int, auto v) { return v; }, sums);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) statistics.center[r] = V::Broadcast(sums[r] / static_cast<float>(columns));
  const auto square = [&statistics](int r, auto v) {
    const auto distance = V::Sub(v, statistics.center[r]);
    return V::Mul(distance, distance);
  };
  SumsOfRows<V>(rows, stride, columns, square, sums);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const float variance = sums[r] / static_cast<float>(columns);
    statistics.scale[r] = V::Broadcast(1 / __builtin_sqrtf(variance + epsilon));
  }
  return statistics;
}

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_ROW_STATISTICS_H_
