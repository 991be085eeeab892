// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_HEADS_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_HEADS_H_

#include <cstdint>

#include "models/attention_tap.h"
#include "models/engine/cpu/frame.h"

// Helpers for the steps that mix tokens.
namespace vitrine::engine {

// Returns the source of the maps of program::Attend or program::AttendLinearly.
AttentionSource SourceOf(const auto& attend) {
  return attend.class_query ? AttentionSource::kClassQuery : AttentionSource::kTokens;
}

// Returns the columns of one head.
inline View<float> Head(View<float> x, int64_t head, int64_t width) {
  return {x.data + head * width, x.rows, width, x.stride};
}

// Returns `rows` rows, starting at row `first`.
template <typename T>
View<T> RowsFrom(View<T> x, int64_t first, int64_t rows) {
  return {x.Row(first), rows, x.columns, x.stride};
}

// Computes y[i, j] = sum over rows t of a[t, i] * b[t, j].
inline void ProductOverRows(const Frame& frame, View<const float> a, View<const float> b, float* y, int64_t y_stride) {
  frame.kernels().product({.a = a.data,
                           .a_row = 1,
                           .a_inner = a.stride,
                           .b = b.data,
                           .b_stride = b.stride,
                           .rows = a.columns,
                           .inner = a.rows,
                           .columns = b.columns,
                           .y = y,
                           .y_stride = y_stride});
}

// Computes y = a m, where `m` is [columns of `a`, columns of `y`].
inline void ProductOfRows(const Frame& frame, View<const float> a, const float* m, int64_t m_stride, View<float> y) {
  frame.kernels().product({.a = a.data,
                           .a_row = a.stride,
                           .a_inner = 1,
                           .b = m,
                           .b_stride = m_stride,
                           .rows = a.rows,
                           .inner = a.columns,
                           .columns = y.columns,
                           .y = y.data,
                           .y_stride = y.stride});
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_HEADS_H_
