// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_GEMM_KERNEL_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_GEMM_KERNEL_H_

#include <cstdint>

#include "models/engine/cpu/kernels/engine_gelu.h"
#include "models/engine/cpu/kernels/kernels.h"
#include "models/engine/cpu/kernels/tiles.h"

// Templates for files that are compiled for one instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

// Computes one register tile.
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
    RowPointers<kRows, float> a(part, call.a_stride);
    for (int64_t k = 0; k < call.inner; ++k, a.Advance(1), weights += kVectors * V::kLanes) {
      Reg w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if (v * V::kLanes * int64_t{sizeof(float)} % kLineBytes == 0) {
          __builtin_prefetch(weights + (kPrefetchSteps * kVectors + v) * V::kLanes);
        }
        w[v] = V::Load(weights + v * V::kLanes);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Reg x = V::Broadcast(*a.Row(r));
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
  } else if (call.activation == Activation::kQuickGelu) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = cpu::QuickGeluOf<V>(sums[r][v]);
    }
  } else if (call.activation == Activation::kRelu) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Max(V::Broadcast(0), sums[r][v]);
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

template <class V>
struct GemmTiles {
  using Function = void (*)(const GemmCall& call, int64_t row, int64_t column, const float* weights);
  template <int kRows, int kVectors>
  static constexpr Function kOf = GemmTile<V, kRows, kVectors>;
};

template <class V>
void RunGemm(const GemmCall& call) {
  ForTiles<V, GemmTiles<V>>(call.rows, call.columns, [&](auto tile, int64_t row, int64_t column) {
    tile(call, row, column, call.panels + column * call.parts * call.inner);
  });
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_GEMM_KERNEL_H_
