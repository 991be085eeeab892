// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_ROWS_KERNEL_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_ROWS_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "common/simd/row_statistics.h"
#include "models/engine/cpu/kernels/narrow_gemm_kernel.h"
#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/engine/cpu/kernels/row_kernels.h"

// Converts rows of fp32 to the left operand of a narrow product. The templates are for files that are compiled for one
// instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

// Number of quantization steps from the least to the largest value of a row. A byte has room for 255 steps. One step is
// left for rounding: the value of byte 0 is a multiple of the step, so it can be below the row's least value.
inline constexpr float kSteps = 254;
// 1.5 * 2^23. The sum of a float and this number has the nearest integer in its lowest bits.
inline constexpr float kWhole = 12582912;
// Maximum number of steps from 0 to a row's largest magnitude, so that adding kWhole is exact.
inline constexpr float kMostSteps = 262144;
inline constexpr float kLeastStep = 0x1p-126f;  // the inverse of this step is finite

struct RowBounds {
  cpu::Four least;
  cpu::Four largest;
};
template <class V, int kRows>
[[gnu::always_inline]] inline RowBounds BoundsOf(View<const float> x, int64_t first) {
  typename V::Reg low[kRows], high[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) low[r] = high[r] = V::Broadcast(x.Row(first + r)[0]);
  int64_t j = 0;
  for (; j + V::kLanes <= x.columns; j += V::kLanes) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto v = V::Load(x.Row(first + r) + j);
      low[r] = V::Min(low[r], v);
      high[r] = V::Max(high[r], v);
    }
  }
  for (; j < x.columns; ++j) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto v = V::Broadcast(x.Row(first + r)[j]);
      low[r] = V::Min(v, low[r]);  // keeps low[r] if v is NaN
      high[r] = V::Max(v, high[r]);
    }
  }
  return {.least = cpu::AcrossEach<V, kRows>(low, V::Min), .largest = cpu::AcrossEach<V, kRows>(high, V::Max)};
}

// Quantization of up to four rows: the bytes of a row are the lowest bits of x * inverse + offset.
struct RowSteps {
  cpu::Four step;
  cpu::Four inverse;
  cpu::Four offset;

  [[gnu::always_inline]] cpu::Four least() const { return (kWhole - offset) * step; }  // value of byte 0
};

[[gnu::always_inline]] inline RowSteps StepsOf(const RowBounds& bounds) {
  const cpu::Four size = bounds.largest > -bounds.least ? bounds.largest : -bounds.least;
  const cpu::Four of_range = (bounds.largest - bounds.least) / kSteps, of_size = size / kMostSteps;
  const cpu::Four step = of_range > of_size ? of_range : of_size;
  const cpu::Four inverse = step >= kLeastStep ? 1 / step : cpu::Four{};
  // Adding kWhole rounds a number to the nearest integer. Because 0.5 is added before, the offset is rounded up, so
  // that no value of the row gets a byte below 0.
  return {.step = step, .inverse = inverse, .offset = (0.5f - bounds.least * inverse) + kWhole};
}

[[gnu::always_inline]] inline void FillGroup(std::byte* row, int64_t bytes) {
  for (; bytes % kGroupBytes != 0; ++bytes) row[bytes] = std::byte{0};
}

// Converts rows to int8 (NarrowKernels::take). Normalization does not change the bytes of a row, only its RowRange.
template <class N>
void TakeBytes(View<const float> x, float epsilon, std::byte* a, int64_t a_stride, RowRange* ranges) {
  using V = typename N::V;
  ForRowsAtOnce(x.rows, [&](auto at_once, int64_t first) {
    constexpr int kRows = at_once.kCount;
    const RowSteps steps = StepsOf(BoundsOf<V, kRows>(x, first));
    cpu::Four step = steps.step, least = steps.least();
    if (epsilon >= 0) {
      const cpu::RowStatistics rows = cpu::StatisticsOf<V, kRows>(x.Row(first), x.stride, x.columns, epsilon);
      step *= rows.scale;
      least = (least - rows.center) * rows.scale;
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) ranges[first + r] = {.step = step[r], .least = least[r]};
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float* const row = x.Row(first + r);
      std::byte* const to = a + (first + r) * a_stride;
      const auto inverse = V::Broadcast(steps.inverse[r]), offset = V::Broadcast(steps.offset[r]);
      int64_t j = 0;
      const auto bytes = [&](int64_t at) { return V::Fma(V::Load(row + at), inverse, offset); };
      if constexpr (N::kStoresFour) {
        for (; j + 4 * V::kLanes <= x.columns; j += 4 * V::kLanes) {
          N::StoreFour(to + j * kNumberBytes<N>, bytes(j), bytes(j + V::kLanes), bytes(j + 2 * V::kLanes),
                       bytes(j + 3 * V::kLanes));
        }
      }
      for (; j + V::kLanes <= x.columns; j += V::kLanes) {
        N::StoreBytes(to + j * kNumberBytes<N>, bytes(j), V::kLanes);
      }
      if (const int64_t rest = x.columns - j; rest > 0) {
        N::StoreBytes(to + j * kNumberBytes<N>, V::Fma(V::LoadPart(row + j, rest), inverse, offset), rest);
      }
      FillGroup(to, x.columns * kNumberBytes<N>);
    }
  });
}

template <class V>
void TakeBf16(View<const float> x, float epsilon, std::byte* a, int64_t a_stride, RowRange* /*ranges*/) {
  const auto put = [](const float* row, cpu::Bf16* to, int64_t columns, auto compute) {
    int64_t j = 0;
    for (; j + V::kLanes <= columns; j += V::kLanes) V::Store(to + j, compute(V::Load(row + j)));
    if (const int64_t rest = columns - j; rest > 0) V::StorePart(to + j, compute(V::LoadPart(row + j, rest)), rest);
    FillGroup(reinterpret_cast<std::byte*>(to), columns * int64_t{sizeof(cpu::Bf16)});
  };
  ForRowsAtOnce(x.rows, [&](auto at_once, int64_t first) {
    constexpr int kRows = at_once.kCount;
    if (epsilon < 0) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        auto* const to = reinterpret_cast<cpu::Bf16*>(a + (first + r) * a_stride);
        put(x.Row(first + r), to, x.columns, [](auto v) { return v; });
      }
      return;
    }
    const auto statistics = cpu::StatisticsOf<V, kRows>(x.Row(first), x.stride, x.columns, epsilon);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto center = V::Broadcast(statistics.center[r]), scale = V::Broadcast(statistics.scale[r]);
      auto* const to = reinterpret_cast<cpu::Bf16*>(a + (first + r) * a_stride);
      put(x.Row(first + r), to, x.columns, [=](auto v) { return V::Mul(V::Sub(v, center), scale); });
    }
  });
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_ROWS_KERNEL_H_
