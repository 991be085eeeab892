// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_KERNELS_NARROW_GEMM_KERNEL_H_
#define VITRINE_ENGINE_CPU_KERNELS_NARROW_GEMM_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "engine/cpu/kernels/engine_gelu.h"
#include "engine/cpu/kernels/narrow_kernels.h"
#include "engine/cpu/kernels/tiles.h"

// Included by one file per instruction set; see base/simd/gelu.h. N says how numbers of one kind are multiplied: N::V
// the vectors of fp32 beside it, N::kNumbers those of a group, N::kOfBytes whether they are bytes or bf16, N::Words a
// vector of groups, N::Sums one of sums, and
//   Zero(), Load(groups of as many outputs), Spread(one group), Dot(spread, loaded, sums), Floats(sums);
// of bytes also StoreBytes(to, numbers from 0 to 255, how many), Least(vector) and Largest(vector).
namespace vitrine::engine {

template <class N>
inline constexpr int64_t kVectorBytes = kGroupBytes* N::V::kLanes;
template <class N>
inline constexpr int64_t kNumberBytes = kGroupBytes / N::kNumbers;

// y of one vector of sums, before the activation.
template <class N>
[[gnu::always_inline]] inline typename N::V::Reg Finish(const NarrowGemmCall& call, int64_t row, int64_t column,
                                                        typename N::Sums sums) {
  using V = typename N::V;
  const auto bias = V::Load(call.bias + column);
  if constexpr (N::kOfBytes) {
    const RowRange range = call.ranges[row];
    const auto rest = V::Fma(V::Broadcast(range.least), V::Load(call.sums + column), bias);
    return V::Fma(V::Mul(N::Floats(sums), V::Load(call.scale + column)), V::Broadcast(range.step), rest);
  } else {
    return V::Add(N::Floats(sums), bias);
  }
}

template <class V>
[[gnu::always_inline]] inline void Write(const NarrowGemmCall& call, int64_t row, int64_t column, int64_t count,
                                         typename V::Reg v) {
  const int64_t at = row * call.y_stride + column;
  const bool whole = count >= V::kLanes;
  if (call.residual != nullptr) {
    const float* const residual = call.residual + row * call.residual_stride + column;
    v = V::Add(whole ? V::Load(residual) : V::LoadPart(residual, count), v);
  }
  if (call.y == nullptr) {
    whole ? V::Store(call.narrow + at, v) : V::StorePart(call.narrow + at, v, count);
  } else {
    whole ? V::Store(call.y + at, v) : V::StorePart(call.y + at, v, count);
  }
}

// What follows the sums of a few rows of a tile, side by side, since each alone waits for its own arithmetic.
template <class N, int kRows, int kVectors>
[[gnu::always_inline]] inline void FinishRows(const NarrowGemmCall& call, int64_t row, int64_t column,
                                              const typename N::Sums* sums) {
  using V = typename N::V;
  typename V::Reg y[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      y[r][v] = Finish<N>(call, row + r, column + v * V::kLanes, sums[r * kVectors + v]);
    }
  }
  if (call.activation == Activation::kGelu) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) y[r][v] = EngineGelu::Of<V>(y[r][v]);
    }
  } else if (call.activation == Activation::kRelu) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) y[r][v] = V::Max(y[r][v], V::Broadcast(0));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t from = column + v * V::kLanes;
      Write<V>(call, row + r, from, v + 1 < kVectors ? V::kLanes : call.columns - from, y[r][v]);
    }
  }
}

// Not part of the tile, which is compiled for every number of rows.
template <class N, int kVectors>
[[gnu::noinline]] void FinishTile(const NarrowGemmCall& call, int64_t row, int64_t rows, int64_t column,
                                  const typename N::Sums* sums) {
  constexpr int kAtOnce = 4;
  const int64_t end = row + rows;
  for (; row + kAtOnce <= end; row += kAtOnce, sums += kAtOnce * kVectors) {
    FinishRows<N, kAtOnce, kVectors>(call, row, column, sums);
  }
  for (; row < end; ++row, sums += kVectors) FinishRows<N, 1, kVectors>(call, row, column, sums);
}

template <class N, int kRows, int kVectors>
void NarrowTile(const NarrowGemmCall& call, int64_t row, int64_t column, const std::byte* weights) {
  typename N::Sums sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = N::Zero();
  }
  const std::byte* part = call.a + row * call.a_stride;
  for (int64_t p = 0; p < call.parts; ++p, part += call.part_stride) {
    const std::byte* a = part;
    for (int64_t k = 0; k < call.groups; ++k, a += call.group_stride, weights += kVectors * kVectorBytes<N>) {
      typename N::Words w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if (v * kVectorBytes<N> % kLineBytes == 0) {
          __builtin_prefetch(weights + (kAhead * kVectors + v) * kVectorBytes<N>);
        }
        w[v] = N::Load(weights + v * kVectorBytes<N>);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const typename N::Words x = N::Spread(a + r * call.a_stride);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = N::Dot(x, w[v], sums[r][v]);
      }
    }
  }
  // A copy: what another function is told the address of would be in memory all along.
  typename N::Sums done[kRows * kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) done[r * kVectors + v] = sums[r][v];
  }
  FinishTile<N, kVectors>(call, row, kRows, column, done);
}

template <class N>
struct NarrowTiles {
  using Function = void (*)(const NarrowGemmCall& call, int64_t row, int64_t column, const std::byte* weights);
  template <int kRows, int kVectors>
  static constexpr Function kOf = NarrowTile<N, kRows, kVectors>;
};

template <class N>
void RunNarrowGemm(const NarrowGemmCall& call) {
  using V = typename N::V;
  ForTiles<V, NarrowTiles<N>>(call.rows, call.columns, [&](auto tile, int64_t row, int64_t column) {
    tile(call, row, column, call.panels + column * call.parts * call.groups * kGroupBytes);
  });
}

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_NARROW_GEMM_KERNEL_H_
