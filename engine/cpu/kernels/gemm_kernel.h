// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_KERNELS_GEMM_KERNEL_H_
#define VITRINE_ENGINE_CPU_KERNELS_GEMM_KERNEL_H_

#include <cstdint>

#include "engine/cpu/kernels/engine_gelu.h"
#include "engine/cpu/kernels/kernels.h"

// Included by one file per instruction set; see base/simd/gelu.h.
namespace vitrine::engine {

// Rows and vectors whose sums fill the registers: of 32, or of 16.
template <class V>
inline constexpr int kTileRows = V::kLanes == 16 ? 14 : 6;
inline constexpr int kTileVectors = 2;

// Steps of the inner loop by which weights are asked for ahead: of a panel larger than the first cache they come from
// the second.
inline constexpr int64_t kAhead = 8;

// One register tile. `columns` are what is left of the panel's last vector and those before it.
template <class V, int kRows, int kVectors>
void GemmTile(const GemmCall& call, int64_t row, int64_t column, const float* weights) {
  using Reg = typename V::Reg;
  Reg sums[kRows][kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const Reg bias = V::Load(call.bias + column + v * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const float* part = call.a + row * call.a_stride;
  for (int64_t p = 0; p < call.parts; ++p, part += call.part_stride) {
    const float* a = part;
    for (int64_t k = 0; k < call.inner; ++k, ++a, weights += kVectors * V::kLanes) {
      Reg w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        __builtin_prefetch(weights + (kAhead * kVectors + v) * V::kLanes);
        w[v] = V::Load(weights + v * V::kLanes);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Reg x = V::Broadcast(a[r * call.a_stride]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Fma(x, w[v], sums[r][v]);
      }
    }
  }
  if (call.activation == Activation::kGelu) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = EngineGelu::Of<V>(sums[r][v]);
    }
  } else if (call.activation == Activation::kRelu) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Max(sums[r][v], V::Broadcast(0));
    }
  }
  const int64_t last = call.columns - column - (kVectors - 1) * V::kLanes;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    float* const y = call.y + (row + r) * call.y_stride + column;
    const float* const residual =
        call.residual == nullptr ? nullptr : call.residual + (row + r) * call.residual_stride + column;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v * V::kLanes;
      if (v + 1 < kVectors || last >= V::kLanes) {
        V::Store(y + at, residual == nullptr ? sums[r][v] : V::Add(V::Load(residual + at), sums[r][v]));
      } else {
        V::StorePart(y + at, residual == nullptr ? sums[r][v] : V::Add(V::LoadPart(residual + at, last), sums[r][v]),
                     last);
      }
    }
  }
}

using Tile = void (*)(const GemmCall& call, int64_t row, int64_t column, const float* weights);

template <class V, int kVectors>
Tile TileOfRows(int64_t rows) {
  if constexpr (kTileRows<V> == 14) {
    switch (rows) {
      case 14:
        return GemmTile<V, 14, kVectors>;
      case 13:
        return GemmTile<V, 13, kVectors>;
      case 12:
        return GemmTile<V, 12, kVectors>;
      case 11:
        return GemmTile<V, 11, kVectors>;
      case 10:
        return GemmTile<V, 10, kVectors>;
      case 9:
        return GemmTile<V, 9, kVectors>;
      case 8:
        return GemmTile<V, 8, kVectors>;
      case 7:
        return GemmTile<V, 7, kVectors>;
      default:
        break;
    }
  }
  switch (rows) {
    case 6:
      return GemmTile<V, 6, kVectors>;
    case 5:
      return GemmTile<V, 5, kVectors>;
    case 4:
      return GemmTile<V, 4, kVectors>;
    case 3:
      return GemmTile<V, 3, kVectors>;
    case 2:
      return GemmTile<V, 2, kVectors>;
    default:
      return GemmTile<V, 1, kVectors>;
  }
}

// Panel by panel; the rows of a panel in tiles that differ by one row at most.
template <class V>
void RunGemm(const GemmCall& call) {
  constexpr int64_t kPanel = kTileVectors * V::kLanes;
  const int64_t tiles = (call.rows + kTileRows<V> - 1) / kTileRows<V>;
  if (tiles == 0) return;
  const int64_t least = call.rows / tiles, longer = call.rows % tiles;
  const float* panel = call.panels;
  for (int64_t column = 0; column < call.columns; column += kPanel) {
    const bool narrow = call.columns - column <= V::kLanes;
    const Tile tile = narrow ? TileOfRows<V, 1>(least) : TileOfRows<V, 2>(least);
    const Tile longer_tile = narrow ? TileOfRows<V, 1>(least + 1) : TileOfRows<V, 2>(least + 1);
    int64_t row = 0;
    for (int64_t i = 0; i < longer; ++i, row += least + 1) longer_tile(call, row, column, panel);
    for (int64_t i = longer; i < tiles; ++i, row += least) tile(call, row, column, panel);
    panel += call.parts * call.inner * (narrow ? V::kLanes : kPanel);
  }
}

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_GEMM_KERNEL_H_
