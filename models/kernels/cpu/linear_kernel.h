// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_LINEAR_KERNEL_H_
#define VITRINE_MODELS_KERNELS_CPU_LINEAR_KERNEL_H_

#include <cstdint>

#include "models/kernels/cpu/gelu_kernel.h"
#include "models/kernels/cpu/kernel_table.h"

// Included by one file per instruction set; see gelu_kernel.h.
//
// V, the vectors:   Reg, kLanes, Broadcast, Load, LoadPart, Store, StorePart, KeepFirst, Add, Sub, Mul, Min, Max, Fma,
//                   Reciprocal, Sum
// P, the products:  Element, kDepth (inputs per step), kTileRows, kTileVectors,
//                   Weights, LoadWeights, Splat, MultiplyAdd, Store, StorePart
namespace vitrine::cpu {

// Rows whose running sums wait while the inputs of a panel are taken slice by slice. A multiple of every tile's rows.
inline constexpr int64_t kChunkRows = 96;
// Weights of a panel that stay in the first cache (of 32 KB and more) while a chunk of rows passes by them.
inline constexpr int64_t kSliceBytes = 32 * 1024;
inline constexpr int64_t kLine = 64;

// What one register tile computes: sums[r][v] (+)= x[r] * weights[v] over `steps` steps.
template <class P>
struct TileWork {
  const typename P::Element* x;
  int64_t x_stride;
  const typename P::Element* weights;
  int64_t steps;
  float* sums;
  bool first;         // the sums start at zero
  const char* ahead;  // one cache line from here on is brought into the second cache per step
};

template <class V, class P, int kRows, int kVectors>
void RunTile(const TileWork<P>& work) {
  const auto* x = work.x;
  const auto* weights = work.weights;
  const char* ahead = work.ahead;
  constexpr int kStride = P::kTileVectors * V::kLanes;
  typename V::Reg sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = work.first ? V::Broadcast(0) : V::Load(work.sums + r * kStride + v * V::kLanes);
    }
  }
  for (int64_t step = 0; step < work.steps; ++step) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += kLine;
    typename P::Weights weight[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) weight[v] = P::LoadWeights(weights + v * V::kLanes * P::kDepth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto value = P::Splat(x + r * work.x_stride);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = P::MultiplyAdd(value, weight[v], sum[r][v]);
    }
    x += P::kDepth;
    weights += kVectors * V::kLanes * P::kDepth;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) V::Store(work.sums + r * kStride + v * V::kLanes, sum[r][v]);
  }
}

template <class P>
using Tile = void (*)(const TileWork<P>& work);

template <class V, class P, int kVectors>
Tile<P> TileOfRows(int64_t rows) {
  static_assert(P::kTileRows <= 6);
  if (rows >= P::kTileRows) return RunTile<V, P, P::kTileRows, kVectors>;
  if (rows == 1) return RunTile<V, P, 1, kVectors>;
  if (rows == 2) return RunTile<V, P, 2, kVectors>;
  if (rows == 3) return RunTile<V, P, 3, kVectors>;
  if (rows == 4) return RunTile<V, P, 4, kVectors>;
  return RunTile<V, P, 5, kVectors>;
}

template <class V, class P>
Tile<P> TileOf(int64_t rows, int64_t vectors) {
  if constexpr (P::kTileVectors > 3) {
    if (vectors >= 4) return TileOfRows<V, P, 4>(rows);
    if (vectors == 3) return TileOfRows<V, P, 3>(rows);
  }
  return vectors == 1 ? TileOfRows<V, P, 1>(rows) : TileOfRows<V, P, 2>(rows);
}

// The bias and the epilogue of `rows` rows by one panel: from sums to call.y.
template <class V, class P, class S, bool kGelu>
void Finish(const LinearCall& call, const float* sums, int64_t first_row, int64_t rows, int64_t first_output,
            int64_t end_output) {
  constexpr int kStride = P::kTileVectors * V::kLanes;
  for (int64_t r = 0; r < rows; ++r, sums += kStride) {
    const int64_t row = first_row + r;
    auto* const y = static_cast<typename S::Element*>(call.y) + row * call.y_stride;
    const float* const residual = call.residual == nullptr ? nullptr : call.residual + row * call.residual_stride;
    for (int64_t j = first_output; j < end_output; j += V::kLanes) {
      const int64_t left = end_output - j;
      auto value = V::Add(V::Load(sums + (j - first_output)), V::Load(call.bias + j));
      if constexpr (kGelu) value = GeluOf<V>(value);
      if (left >= V::kLanes) {
        if (residual != nullptr) value = V::Add(V::Load(residual + j), value);
        S::Store(y + j, value);
      } else {
        if (residual != nullptr) value = V::Add(V::LoadPart(residual + j, left), value);
        S::StorePart(y + j, value, left);
      }
    }
  }
}

// One panel of at most kTileVectors vectors for at most kChunkRows rows.
template <class V, class P, class Y, bool kGelu>
void RunPanel(const LinearCall& call, int64_t first_row, int64_t rows, int64_t first_output) {
  constexpr int64_t kPanel = P::kTileVectors * V::kLanes;
  constexpr int64_t kSteps = kSliceBytes / (kPanel * P::kDepth * static_cast<int64_t>(sizeof(typename P::Element)));
  // The first tiles fetch the next slice, or the next panel, which follows in memory; behind the last one nothing is
  // there, which a prefetch may ask for.
  constexpr int64_t kTilesAhead = kSliceBytes / (kSteps * kLine) < 1 ? 1 : kSliceBytes / (kSteps * kLine);
  alignas(kLine) float sums[kChunkRows * kPanel];
  const int64_t steps = (call.inputs + P::kDepth - 1) / P::kDepth;
  const int64_t end_output = call.outputs < first_output + kPanel ? call.outputs : first_output + kPanel;
  const int64_t vectors = (end_output - first_output + V::kLanes - 1) / V::kLanes;
  const auto* const x = static_cast<const typename P::Element*>(call.a) + first_row * call.a_stride;
  const auto* const panel = static_cast<const typename P::Element*>(call.panels) + first_output * steps * P::kDepth;
  // One slice needs no more room for sums than a tile has, which then never leaves the first cache.
  const int64_t sums_stride = steps > kSteps ? kPanel : 0;
  for (int64_t step = 0; step < steps; step += kSteps) {
    const int64_t count = steps - step < kSteps ? steps - step : kSteps;
    const auto* const slice = panel + step * vectors * V::kLanes * P::kDepth;
    const auto* const next = reinterpret_cast<const char*>(slice + count * vectors * V::kLanes * P::kDepth);
    for (int64_t row = 0; row < rows; row += P::kTileRows) {
      const int64_t tile_rows = rows - row < P::kTileRows ? rows - row : P::kTileRows;
      float* const tile_sums = sums + row * sums_stride;
      const bool ahead = row < kTilesAhead * P::kTileRows;
      TileOf<V, P>(tile_rows, vectors)(
          {.x = x + row * call.a_stride + step * P::kDepth,
           .x_stride = call.a_stride,
           .weights = slice,
           .steps = count,
           .sums = tile_sums,
           .first = step == 0,
           .ahead = ahead ? next + row / P::kTileRows * count * kLine : reinterpret_cast<const char*>(slice)});
      if (step + count == steps) {
        Finish<V, P, Y, kGelu>(call, tile_sums, first_row + row, tile_rows, first_output, end_output);
      }
    }
  }
}

template <class V, class P, class Y, bool kGelu>
void RunPanels(const LinearCall& call) {
  static_assert(kChunkRows % P::kTileRows == 0);
  for (int64_t output = 0; output < call.outputs; output += P::kTileVectors * V::kLanes) {
    for (int64_t row = 0; row < call.rows; row += kChunkRows) {
      const int64_t rows = call.rows - row < kChunkRows ? call.rows - row : kChunkRows;
      RunPanel<V, P, Y, kGelu>(call, row, rows, output);
    }
  }
}

// Y32 stores floats; P itself stores its elements.
template <class V, class P, class Y32>
void RunLinear(const LinearCall& call) {
  if (call.y_is_bf16) {
    call.gelu ? RunPanels<V, P, P, true>(call) : RunPanels<V, P, P, false>(call);
  } else {
    call.gelu ? RunPanels<V, P, Y32, true>(call) : RunPanels<V, P, Y32, false>(call);
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_LINEAR_KERNEL_H_
