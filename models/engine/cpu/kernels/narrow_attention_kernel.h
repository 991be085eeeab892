// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_ATTENTION_KERNEL_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_ATTENTION_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "models/engine/cpu/kernels/narrow_gemm_kernel.h"
#include "models/engine/cpu/kernels/row_kernels.h"

// Converts activations to the operands of bf16 products, for attention. The templates are for files that are compiled
// for one instruction set; see common/simd/gelu.h. In addition to the members in narrow_gemm_kernel.h, N for bf16 has:
//   Pair(even, odd): groups of even[i] and odd[i], rounded to bf16, for each lane i. Store(to, groups): writes groups.
//   Turn(rows, count, to, stride): transposes a square of groups with one row and one column per lane. Writes the first
//   `count` columns as rows that are `stride` bytes apart.
namespace vitrine::engine {

[[gnu::always_inline]] inline int64_t Fewer(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Calls put(column, vectors, panel) for every panel of `columns` outputs. `column` is the first output of the panel,
// `vectors` its width in vectors, and `panel` its address.
template <class N, class Put>
[[gnu::always_inline]] inline void ForPanels(int64_t columns, int64_t groups, std::byte* panels, Put put) {
  constexpr int64_t kLanes = N::V::kLanes;
  for (int64_t column = 0; column < columns; column += kTileVectors * kLanes) {
    const int64_t vectors = columns - column <= kLanes ? 1 : kTileVectors;
    put(column, vectors, panels);
    panels += groups * vectors * kVectorBytes<N>;
  }
}

template <class N>
void PackInputs(View<const float> x, std::byte* panels) {
  using V = typename N::V;
  const int64_t groups = (x.rows + 1) / 2;
  ForPanels<N>(x.columns, groups, panels, [&](int64_t column, int64_t vectors, std::byte* to) {
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t v = 0; v < vectors; ++v, to += kVectorBytes<N>) {
        const int64_t at = column + v * V::kLanes, count = Fewer(V::kLanes, x.columns - at);
        const auto even = V::LoadPart(x.Row(2 * g) + at, count);
        const auto odd = 2 * g + 1 < x.rows ? V::LoadPart(x.Row(2 * g + 1) + at, count) : V::Broadcast(0);
        N::Store(to, N::Pair(even, odd));
      }
    }
  });
}

// Packs the rows of `x`, one output of the product per row. Row r goes to lane r of each vector, so `x` has at most as
// many rows as a vector has lanes. Writes one vector per group of inputs; consecutive vectors are `stride` bytes apart.
template <class N>
void PackOutputsOfVector(View<const float> x, std::byte* to, int64_t stride) {
  using V = typename N::V;
  constexpr int64_t kLanes = V::kLanes, kRowBytes = kLanes * kGroupBytes;
  alignas(64) std::byte rows[kLanes * kRowBytes] = {};  // one group per lane in each row
  for (int64_t first = 0; first < x.columns; first += 2 * kLanes) {
    for (int64_t r = 0; r < x.rows; ++r) {
      auto* const row = reinterpret_cast<cpu::Bf16*>(rows + r * kRowBytes);
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t at = first + half * kLanes, count = Fewer(kLanes, at < x.columns ? x.columns - at : 0);
        V::Store(row + half * kLanes, V::LoadPart(x.Row(r) + at, count));
      }
    }
    N::Turn(rows, Fewer(kLanes, (x.columns - first + 1) / 2), to, stride);
    to += kLanes * stride;
  }
}

template <class N>
void PackOutputs(View<const float> x, std::byte* panels) {
  constexpr int64_t kLanes = N::V::kLanes;
  ForPanels<N>(x.rows, (x.columns + 1) / 2, panels, [&](int64_t output, int64_t vectors, std::byte* to) {
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t first = output + v * kLanes, rows = Fewer(kLanes, x.rows - first);
      PackOutputsOfVector<N>({x.Row(first), rows, x.columns, x.stride}, to + v * kVectorBytes<N>,
                             vectors * kVectorBytes<N>);
    }
  });
}

// Returns 2^x for x <= 0. The relative error is at most 8e-5, a fiftieth of the rounding error of bf16.
template <class V>
[[gnu::always_inline]] inline typename V::Reg PowerOfTwo(typename V::Reg x) {
  x = V::Max(V::Broadcast(-126.0f), x);
  const auto n = V::Round(x);
  const auto r = V::Sub(x, n);
  auto p = V::Fma(V::Broadcast(0.0551716691f), r, V::Broadcast(0.242611122f));
  p = V::Fma(p, r, V::Broadcast(0.693260985f));
  p = V::Fma(p, r, V::Broadcast(0.999928074f));
  return V::TimesPowerOfTwo(p, n);
}

template <class N>
void SoftmaxRows(View<float> x, float scale, const float* offsets, std::byte* a, int64_t a_stride) {
  using V = typename N::V;
  const auto factor = V::Broadcast(scale);
  ForRowsAtOnce(x.rows, [&](auto at_once, int64_t first) {
    constexpr int kRows = at_once.kCount;
    typename V::Reg largest[kRows], sums[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      largest[r] = V::Broadcast(-__builtin_inff());
      sums[r] = V::Broadcast(0);
    }
    for (int64_t j = 0; j < x.columns; j += V::kLanes) {
      const auto offset = V::Load(offsets + j);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        largest[r] = V::Max(largest[r], V::Fma(V::Load(x.Row(first + r) + j), factor, offset));
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) largest[r] = V::Broadcast(V::Across(largest[r], V::Max));
    for (int64_t j = 0; j < x.columns; j += V::kLanes) {
      const auto offset = V::Load(offsets + j);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        float* const at = x.Row(first + r) + j;
        const auto e = PowerOfTwo<V>(V::Sub(V::Fma(V::Load(at), factor, offset), largest[r]));
        V::Store(at, e);
        sums[r] = V::Add(sums[r], e);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto share = V::Broadcast(1 / V::Sum(sums[r]));
      auto* const to = reinterpret_cast<cpu::Bf16*>(a + (first + r) * a_stride);
      for (int64_t j = 0; j < x.columns; j += V::kLanes) {
        V::Store(to + j, V::Mul(V::Load(x.Row(first + r) + j), share));
      }
    }
  });
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_ATTENTION_KERNEL_H_
