// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_ROW_KERNELS_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_ROW_KERNELS_H_

#include <cstdint>

#include "common/simd/row_statistics.h"
#include "models/engine/cpu/kernels/engine_gelu.h"
#include "models/engine/cpu/kernels/kernels.h"

// Kernels that compute each row separately, for files compiled for one instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

using cpu::View;

// Writes compute(load, column) to y for every vector of `columns`; load(p) reads one vector of floats at p.
template <class V, class Compute>
[[gnu::always_inline]] inline void ForVectors(int64_t columns, float* y, Compute compute) {
  int64_t j = 0;
  for (; j + V::kLanes <= columns; j += V::kLanes) {
    V::Store(y + j, compute([](const float* from) { return V::Load(from); }, j));
  }
  if (const int64_t rest = columns - j; rest > 0) {
    V::StorePart(y + j, compute([rest](const float* from) { return V::LoadPart(from, rest); }, j), rest);
  }
}

template <int kRows>
struct Rows {
  static constexpr int kCount = kRows;
};

// Number of rows that are summed at the same time. With a single row, every addition would wait for the previous
// addition.
inline constexpr int kRowsAtOnce = 4;

// Calls block(Rows<n>, first) for each block of n rows; n is kRowsAtOnce until fewer rows are left, then 1.
template <class Block>
[[gnu::always_inline]] inline void ForRowsAtOnce(int64_t rows, Block block) {
  int64_t i = 0;
  for (; i + kRowsAtOnce <= rows; i += kRowsAtOnce) block(Rows<kRowsAtOnce>(), i);
  for (; i < rows; ++i) block(Rows<1>(), i);
}

// Writes finish(load, normalized, column) to y for every vector of x. `normalized` has mean 0 and variance 1 per row.
template <class V, class Finish>
[[gnu::always_inline]] inline void NormalizeRows(View<const float> x, float epsilon, View<float> y, Finish finish) {
  ForRowsAtOnce(x.rows, [&](auto at_once, int64_t first) {
    constexpr int kRows = at_once.kCount;
    const auto statistics = cpu::StatisticsOf<V, kRows>(x.Row(first), x.stride, x.columns, epsilon);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float* const row = x.Row(first + r);
      const auto center = V::Broadcast(statistics.center[r]), scale = V::Broadcast(statistics.scale[r]);
      ForVectors<V>(x.columns, y.Row(first + r), [=](auto load, int64_t j) {
        return finish(load, V::Mul(V::Sub(load(row + j), center), scale), j);
      });
    }
  });
}

template <class V>
void RunNormalize(View<const float> x, float epsilon, View<float> y) {
  NormalizeRows<V>(x, epsilon, y, [](auto /*load*/, auto v, int64_t /*column*/) { return v; });
}

template <class V>
void RunLayerNorm(View<const float> x, float epsilon, const float* weight, const float* bias, View<float> y) {
  NormalizeRows<V>(x, epsilon, y,
                   [=](auto load, auto v, int64_t j) { return V::Fma(v, load(weight + j), load(bias + j)); });
}

template <class V>
void RunAffine(View<const float> x, const float* weight, const float* bias, View<float> y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const row = x.Row(i);
    ForVectors<V>(x.columns, y.Row(i),
                  [=](auto load, int64_t j) { return V::Fma(load(row + j), load(weight + j), load(bias + j)); });
  }
}

template <class V>
void RunAdd(View<const float> x, View<const float> z, View<float> y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const row = x.Row(i);
    const float* const other = z.Row(i);
    ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return V::Add(load(row + j), load(other + j)); });
  }
}

template <class V>
void RunActivate(View<const float> x, Activation activation, View<float> y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const row = x.Row(i);
    if (activation == Activation::kGelu) {
      ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return EngineGelu::Of<V>(load(row + j)); });
    } else if (activation == Activation::kQuickGelu) {
      ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return cpu::QuickGeluOf<V>(load(row + j)); });
    } else {
      ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return V::Max(V::Broadcast(0), load(row + j)); });
    }
  }
}

template <class V>
void RunScaleToLength(View<const float> x, float factor, float epsilon, View<float> y) {
  ForRowsAtOnce(x.rows, [&](auto at_once, int64_t first) {
    constexpr int kRows = at_once.kCount;
    const cpu::Four squares =
        cpu::SumsOfRows<V, kRows>(x.Row(first), x.stride, x.columns, [](int, auto v) { return V::Mul(v, v); });
    const cpu::Four factors = factor / (cpu::RootOf(squares) + epsilon);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float* const row = x.Row(first + r);
      const auto scale = V::Broadcast(factors[r]);
      ForVectors<V>(x.columns, y.Row(first + r), [=](auto load, int64_t j) { return V::Mul(load(row + j), scale); });
    }
  });
}

template <class V>
void RunDots(View<const float> x, const float* z, float* y) {
  ForRowsAtOnce(x.rows, [&](auto at_once, int64_t first) {
    constexpr int kRows = at_once.kCount;
    typename V::Reg sums[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[r] = V::Broadcast(0);
    int64_t j = 0;
    for (; j + V::kLanes <= x.columns; j += V::kLanes) {
      const auto factor = V::Load(z + j);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r] = V::Fma(V::Load(x.Row(first + r) + j), factor, sums[r]);
    }
    if (const int64_t rest = x.columns - j; rest > 0) {
      const auto factor = V::LoadPart(z + j, rest);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r] = V::Fma(V::LoadPart(x.Row(first + r) + j, rest), factor, sums[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) y[first + r] = V::Sum(sums[r]);
  });
}

// Computes the inverse lengths of kVectors vectors of columns, with the sums in registers.
template <class V, int kVectors, class Load, class Store>
[[gnu::always_inline]] inline void InverseLengthsOf(View<const float> x, float least, Load load, Store store) {
  typename V::Reg squares[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) squares[v] = V::Broadcast(0);
  for (int64_t t = 0; t < x.rows; ++t) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto value = load(x.Row(t) + v * V::kLanes);
      squares[v] = V::Fma(value, value, squares[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    store(v * V::kLanes, V::Divide(V::Broadcast(1), V::Max(V::Broadcast(least), V::Root(squares[v]))));
  }
}

template <class V>
void RunInverseLengths(View<const float> x, float least, float* inverse) {
  constexpr int kAtOnce = 8;  // independent sums: enough for two multiply-add units with a latency of four cycles
  const auto load = [](const float* from) { return V::Load(from); };
  int64_t c = 0;
  const auto store = [&](int64_t j, auto v) { V::Store(inverse + c + j, v); };
  const auto columns = [&](int64_t count) { return View<const float>{x.data + c, x.rows, count, x.stride}; };
  for (; c + kAtOnce * V::kLanes <= x.columns; c += kAtOnce * V::kLanes) {
    InverseLengthsOf<V, kAtOnce>(columns(kAtOnce * V::kLanes), least, load, store);
  }
  for (; c + V::kLanes <= x.columns; c += V::kLanes) InverseLengthsOf<V, 1>(columns(V::kLanes), least, load, store);
  if (const int64_t rest = x.columns - c; rest > 0) {
    InverseLengthsOf<V, 1>(
        columns(rest), least, [rest](const float* from) { return V::LoadPart(from, rest); },
        [&](int64_t j, auto v) { V::StorePart(inverse + c + j, v, rest); });
  }
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_ROW_KERNELS_H_
