// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_SOFTMAX_H_
#define VITRINE_COMMON_SIMD_SOFTMAX_H_

#include <cstdint>

// Templates for files that are compiled for one instruction set; see gelu.h.
namespace vitrine::cpu {

// Returns e^x for -87 <= x <= 88, with a relative error of at most 2e-7. Below -87, returns about e^-87 = 1.6e-38, not
// 0. Returns NaN for NaN, because V's Max returns its second operand, here x, if either operand is NaN.
template <class V>
[[gnu::always_inline]] inline typename V::Reg ExpOf(typename V::Reg x) {
  const auto constant = [](float value) { return V::Broadcast(value); };
  x = V::Max(constant(-87.0f), x);
  // x = n * ln 2 + r. For precision, n * ln 2 is subtracted in two parts. The first factor, 0.693359375, has few bits,
  // so its product with n is exact.
  const auto n = V::Round(V::Mul(x, constant(1.44269504f)));
  auto r = V::Fma(n, constant(-0.693359375f), x);
  r = V::Fma(n, constant(2.12194440e-4f), r);
  auto p = V::Fma(constant(1.9875691500e-4f), r, constant(1.3981999507e-3f));
  p = V::Fma(p, r, constant(8.3334519073e-3f));
  p = V::Fma(p, r, constant(4.1665795894e-2f));
  p = V::Fma(p, r, constant(1.6666665459e-1f));
  p = V::Fma(p, r, constant(5.0000001201e-1f));
  p = V::Fma(V::Mul(p, r), r, V::Add(r, constant(1)));
  return V::TimesPowerOfTwo(p, n);
}

// Computes the softmax of one vector of columns in place. `load` and `store` handle whole or partial vectors.
template <class V, class Load, class Store>
[[gnu::always_inline]] inline void SoftmaxOfColumns(float* x, int64_t rows, int64_t stride, Load load, Store store) {
  auto largest = load(x);
  for (int64_t j = 1; j < rows; ++j) largest = V::Max(largest, load(x + j * stride));
  auto sum = V::Broadcast(0);
  for (int64_t j = 0; j < rows; ++j) {
    const auto e = ExpOf<V>(V::Sub(load(x + j * stride), largest));
    store(x + j * stride, e);
    sum = V::Add(sum, e);
  }
  const auto factor = V::Reciprocal(sum);
  for (int64_t j = 0; j < rows; ++j) store(x + j * stride, V::Mul(factor, load(x + j * stride)));
}

// Computes the softmax of each column in place, without overflow. Rows are contiguous.
template <class V>
void SoftmaxColumns(float* x, int64_t rows, int64_t columns) {
  int64_t i = 0;
  for (; i + V::kLanes <= columns; i += V::kLanes) {
    SoftmaxOfColumns<V>(
        x + i, rows, columns, [](const float* from) { return V::Load(from); },
        [](float* to, typename V::Reg v) { V::Store(to, v); });
  }
  if (const int64_t rest = columns - i; rest > 0) {
    SoftmaxOfColumns<V>(
        x + i, rows, columns, [rest](const float* from) { return V::LoadPart(from, rest); },
        [rest](float* to, typename V::Reg v) { V::StorePart(to, v, rest); });
  }
}

// Computes the softmax of one row in place, without overflow.
template <class V>
void SoftmaxRow(float* x, int64_t count) {
  const int64_t whole = count / V::kLanes * V::kLanes, rest = count - whole;
  auto largest = V::Broadcast(-__builtin_inff());
  for (int64_t j = 0; j < whole; j += V::kLanes) largest = V::Max(largest, V::Load(x + j));
  float most = -__builtin_inff(), lanes[V::kLanes];
  V::Store(lanes, largest);
  for (const float lane : lanes) most = lane > most ? lane : most;
  for (int64_t j = whole; j < count; ++j) most = x[j] > most ? x[j] : most;
  auto sum = V::Broadcast(0);
  for (int64_t j = 0; j < whole; j += V::kLanes) {
    const auto e = ExpOf<V>(V::Sub(V::Load(x + j), V::Broadcast(most)));
    V::Store(x + j, e);
    sum = V::Add(sum, e);
  }
  if (rest > 0) {
    const auto e = ExpOf<V>(V::Sub(V::LoadPart(x + whole, rest), V::Broadcast(most)));
    V::StorePart(x + whole, e, rest);
    sum = V::Add(sum, V::KeepFirst(e, rest));
  }
  const auto factor = V::Broadcast(1 / V::Sum(sum));
  for (int64_t j = 0; j < whole; j += V::kLanes) V::Store(x + j, V::Mul(factor, V::Load(x + j)));
  if (rest > 0) V::StorePart(x + whole, V::Mul(factor, V::LoadPart(x + whole, rest)), rest);
}

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_SOFTMAX_H_
