// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_KERNELS_ROW_KERNELS_H_
#define VITRINE_ENGINE_CPU_KERNELS_ROW_KERNELS_H_

#include <cstdint>

#include "base/simd/gelu.h"
#include "base/simd/row_statistics.h"
#include "engine/cpu/kernels/kernels.h"

// What treats rows alone. Included by one file per instruction set; see base/simd/gelu.h.
namespace vitrine::engine {

using cpu::View;

// compute(load, column) for every vector of `columns`; load(p) reads as many floats at p as the vector has.
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

template <class V>
void RunNormalize(View<const float> x, float epsilon, View<float> y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const row = x.Row(i);
    const auto [center, scale] = cpu::StatisticsOf<V>(row, x.columns, epsilon);
    ForVectors<V>(x.columns, y.Row(i), [row, center = center, scale = scale](auto load, int64_t j) {
      return V::Mul(V::Sub(load(row + j), center), scale);
    });
  }
}

template <class V>
void RunLayerNorm(View<const float> x, float epsilon, const float* weight, const float* bias, View<float> y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const row = x.Row(i);
    const auto [center, scale] = cpu::StatisticsOf<V>(row, x.columns, epsilon);
    ForVectors<V>(x.columns, y.Row(i), [=, center = center, scale = scale](auto load, int64_t j) {
      return V::Fma(V::Mul(V::Sub(load(row + j), center), scale), load(weight + j), load(bias + j));
    });
  }
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
      ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return cpu::GeluOf<V>(load(row + j)); });
    } else {
      ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return V::Max(load(row + j), V::Broadcast(0)); });
    }
  }
}

template <class V>
void RunScaleToLength(View<const float> x, float factor, float epsilon, View<float> y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const row = x.Row(i);
    const float squares = cpu::SumOfRow<V>(row, x.columns, [](auto v) { return V::Mul(v, v); });
    const auto scale = V::Broadcast(factor / (__builtin_sqrtf(squares) + epsilon));
    ForVectors<V>(x.columns, y.Row(i), [=](auto load, int64_t j) { return V::Mul(load(row + j), scale); });
  }
}

template <class V>
void RunInverseLengths(View<const float> x, float least, float* inverse) {
  for (int64_t c = 0; c < x.columns; ++c) inverse[c] = 0;
  for (int64_t t = 0; t < x.rows; ++t) {
    const float* const row = x.Row(t);
    ForVectors<V>(x.columns, inverse,
                  [=](auto load, int64_t j) { return V::Fma(load(row + j), load(row + j), load(inverse + j)); });
  }
  for (int64_t c = 0; c < x.columns; ++c) {
    const float length = __builtin_sqrtf(inverse[c]);
    inverse[c] = 1 / (length > least ? length : least);
  }
}

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_ROW_KERNELS_H_
