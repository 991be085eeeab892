// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_ROW_STATISTICS_H_
#define VITRINE_BASE_SIMD_ROW_STATISTICS_H_

#include <cstdint>

// Included by one file per instruction set; see gelu.h.
namespace vitrine::cpu {

// Sum over one row of value(x). Two running sums, so that additions overlap; their order depends on `columns` alone.
template <class V, class Value>
[[gnu::always_inline]] inline float SumOfRow(const float* x, int64_t columns, Value value) {
  auto even = V::Broadcast(0);
  auto odd = V::Broadcast(0);
  int64_t j = 0;
  for (; j + 2 * V::kLanes <= columns; j += 2 * V::kLanes) {
    even = V::Add(even, value(V::Load(x + j)));
    odd = V::Add(odd, value(V::Load(x + j + V::kLanes)));
  }
  for (; j + V::kLanes <= columns; j += V::kLanes) even = V::Add(even, value(V::Load(x + j)));
  if (j < columns) odd = V::Add(odd, V::KeepFirst(value(V::LoadPart(x + j, columns - j)), columns - j));
  return V::Sum(V::Add(even, odd));
}

// Mean and 1 / sqrt(variance + epsilon) of one row, as vectors; the mean is taken before the variance.
template <class V>
struct RowStatistics {
  typename V::Reg center;
  typename V::Reg scale;
};
template <class V>
[[gnu::always_inline]] inline RowStatistics<V> StatisticsOf(const float* row, int64_t columns, float epsilon) {
  const float mean = SumOfRow<V>(row, columns, [](auto v) { return v; }) / static_cast<float>(columns);
  const auto center = V::Broadcast(mean);
  const auto square = [center](auto v) {
    const auto distance = V::Sub(v, center);
    return V::Mul(distance, distance);
  };
  const float variance = SumOfRow<V>(row, columns, square) / static_cast<float>(columns);
  return {center, V::Broadcast(1 / __builtin_sqrtf(variance + epsilon))};
}

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_ROW_STATISTICS_H_
