// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_GEMM_KERNEL_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_GEMM_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "models/engine/cpu/kernels/narrow_gelu.h"
#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/engine/cpu/kernels/tiles.h"

// Templates for files that are compiled for one instruction set; see common/simd/gelu.h. N has the operations of a
// number type:
//   V, Words, Sums: vectors of floats, of groups and of sums. kNumbers: numbers per group. kOfBytes: true for int8.
//   Zero(): sums of 0. Load(from): one group per lane. Spread(from): one group in all lanes.
//   Floats(sums): the sums as fp32. Dot(spread, loaded, sums): the sums plus the products of each lane.
//   For int8, N also has StoreBytes(to, vector, count), which stores the lowest byte of each lane. With kStoresFour, N
//   also has StoreFour(to, four vectors), which does this for four vectors. The lower half of each lane must be below
//   256.
namespace vitrine::engine {

template <class N>
inline constexpr int64_t kVectorBytes = kGroupBytes* N::V::kLanes;
template <class N>
inline constexpr int64_t kNumberBytes = kGroupBytes / N::kNumbers;

// Converts a tile's sums to results of type `Number`. Keeps call.bias, call.scale and call.sums of the tile in
// registers. Copies the fields of the call, because the compiler assumes that any vector store may change the call.
template <class N, int kVectors, Activation kActivation, bool kHasResidual, class Number>
class TileEnd {
 public:
  using V = typename N::V;
  using Reg = typename V::Reg;

  [[gnu::always_inline]] TileEnd(const NarrowGemmCall& call, Number* y, int64_t row, int64_t column)
      : ranges_(N::kOfBytes ? call.ranges + row : nullptr),
        residual_(kHasResidual ? call.residual + row * call.residual_stride + column : nullptr),
        residual_stride_(call.residual_stride),
        y_(y + row * call.y_stride + column),
        y_stride_(call.y_stride),
        last_(call.columns - column - (kVectors - 1) * V::kLanes) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = column + v * V::kLanes;
      bias_[v] = V::Load(call.bias + at);
      if constexpr (N::kOfBytes) {
        scale_[v] = V::Load(call.scale + at);
        sums_[v] = V::Load(call.sums + at);
      }
    }
  }

  // Converts kRows rows together, because the operations of a single row would wait for each other.
  template <int kRows>
  [[gnu::always_inline]] void Rows(int64_t row, const typename N::Sums* sums) const {
    Reg y[kRows][kVectors];
    Each<kRows>([&](int r, int v) { y[r][v] = Linear(row + r, v, sums[r * kVectors + v]); });
    if constexpr (kActivation == Activation::kGelu) {
      Each<kRows>([&](int r, int v) { y[r][v] = NarrowGelu::Of<V>(y[r][v]); });
    } else if constexpr (kActivation == Activation::kQuickGelu) {
      Each<kRows>([&](int r, int v) { y[r][v] = cpu::QuickGeluOf<V>(y[r][v]); });
    } else if constexpr (kActivation == Activation::kRelu) {
      Each<kRows>([&](int r, int v) { y[r][v] = V::Max(V::Broadcast(0), y[r][v]); });
    }
    if constexpr (kHasResidual) {
      Each<kRows>([&](int r, int v) { y[r][v] = V::Add(Residual(row + r, v), y[r][v]); });
    }
    Each<kRows>([&](int r, int v) { Put(row + r, v, y[r][v]); });
  }

 private:
  template <int kRows, class Do>
  [[gnu::always_inline]] static void Each(Do act) {
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) act(r, v);
    }
  }

  [[gnu::always_inline]] bool IsWhole(int v) const {
    return v + 1 < kVectors || last_ >= V::kLanes;
  }

  [[gnu::always_inline]] Reg Linear(int64_t row, int v, typename N::Sums sums) const {
    if constexpr (N::kOfBytes) {
      const RowRange range = ranges_[row];
      const Reg rest = V::Fma(V::Broadcast(range.least), sums_[v], bias_[v]);
      return V::Fma(V::Mul(N::Floats(sums), scale_[v]), V::Broadcast(range.step), rest);
    } else {
      return V::Add(N::Floats(sums), bias_[v]);
    }
  }

  [[gnu::always_inline]] Reg Residual(int64_t row, int v) const {
    const float* const from = residual_ + row * residual_stride_ + v * V::kLanes;
    return IsWhole(v) ? V::Load(from) : V::LoadPart(from, last_);
  }

  [[gnu::always_inline]] void Put(int64_t row, int v, Reg value) const {
    Number* const to = y_ + row * y_stride_ + v * V::kLanes;
    IsWhole(v) ? V::Store(to, value) : V::StorePart(to, value, last_);
  }

  const RowRange* const ranges_;
  const float* const residual_;
  const int64_t residual_stride_;
  Number* const y_;
  const int64_t y_stride_;
  const int64_t last_;  // columns from the last vector on; if below V::kLanes, the last vector is partial
  Reg bias_[kVectors], scale_[kVectors], sums_[kVectors];
};

// Converts `rows` rows of sums. This is a separate function, so that its code is not repeated for each tile size.
template <class N, int kVectors, Activation kActivation, bool kHasResidual, class Number>
[[gnu::noinline]] void FinishRows(const NarrowGemmCall& call, Number* y, int64_t row, int64_t rows, int64_t column,
                                  const typename N::Sums* sums) {
  const TileEnd<N, kVectors, kActivation, kHasResidual, Number> end(call, y, row, column);
  int64_t r = 0;
  for (; r + 2 <= rows; r += 2) end.template Rows<2>(r, sums + r * kVectors);
  if (r < rows) end.template Rows<1>(r, sums + r * kVectors);
}

// Selects the instantiation by the options of the call, so that no option is tested per row.
template <class N, int kVectors>
void FinishTile(const NarrowGemmCall& call, int64_t row, int64_t rows, int64_t column, const typename N::Sums* sums) {
  const auto with = [&](auto activation) {
    const auto to = [&](auto* y) {
      constexpr Activation kActivation = decltype(activation)::value;
      if (call.residual != nullptr) {
        FinishRows<N, kVectors, kActivation, true>(call, y, row, rows, column, sums);
      } else {
        FinishRows<N, kVectors, kActivation, false>(call, y, row, rows, column, sums);
      }
    };
    call.y != nullptr ? to(call.y) : to(call.narrow);
  };
  switch (call.activation) {
    case Activation::kNone:
      return with(std::integral_constant<Activation, Activation::kNone>());
    case Activation::kGelu:
      return with(std::integral_constant<Activation, Activation::kGelu>());
    case Activation::kQuickGelu:
      return with(std::integral_constant<Activation, Activation::kQuickGelu>());
    case Activation::kRelu:
      return with(std::integral_constant<Activation, Activation::kRelu>());
  }
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
    RowPointers<kRows, std::byte> a(part, call.a_stride);
    for (int64_t k = 0; k < call.groups; ++k, a.Advance(call.group_stride), weights += kVectors * kVectorBytes<N>) {
      typename N::Words w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if (v * kVectorBytes<N> % kLineBytes == 0) {
          __builtin_prefetch(weights + (kPrefetchSteps * kVectors + v) * kVectorBytes<N>);
        }
        w[v] = N::Load(weights + v * kVectorBytes<N>);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const typename N::Words x = N::Spread(a.Row(r));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = N::Dot(x, w[v], sums[r][v]);
      }
    }
  }
  // Copies the sums, because passing the address of `sums` itself to another function would keep the sums in memory,
  // not in registers.
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

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_GEMM_KERNEL_H_
