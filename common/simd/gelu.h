// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_GELU_H_
#define VITRINE_COMMON_SIMD_GELU_H_

#include <cstdint>

#include "common/simd/softmax.h"

// Templates for files that are compiled for one instruction set. Their parameter `V` is the class with the vector
// operations, for example from avx2.h. `V` is in an anonymous namespace, so every template instance stays in its file.
namespace vitrine::cpu {

// Returns h(x) = erf(x / sqrt 2) / 2 = x * P(x^2) / Q(x^2) for |x| <= 5.4, and +-1/2 beyond.
//
// P and Q are a minimax fit: x^2 * |P/Q - h/x| <= 1.8e-8 before rounding. All coefficients are positive, so there is no
// cancellation. At x = 5.4, x * P / Q equals 1/2, except for rounding.
template <class V>
[[gnu::always_inline]] inline typename V::Reg HalfErfOf(typename V::Reg x) {
  const auto constant = [](float value) { return V::Broadcast(value); };
  const auto s = V::Min(constant(5.4f * 5.4f), V::Mul(x, x));
  auto p = V::Fma(constant(2.28255974e-08f), s, constant(6.44902912e-06f));
  auto q = V::Fma(constant(1.20689799e-06f), s, constant(7.55469591e-05f));
  p = V::Fma(p, s, constant(1.73699897e-04f));
  q = V::Fma(q, s, constant(1.91160769e-03f));
  p = V::Fma(p, s, constant(4.70745983e-03f));
  q = V::Fma(q, s, constant(2.88943406e-02f));
  p = V::Fma(p, s, constant(3.42639573e-02f));
  q = V::Fma(q, s, constant(2.52552181e-01f));
  p = V::Fma(p, s, constant(3.98942173e-01f));
  q = V::Fma(q, s, constant(1.0f));
  const auto h = V::Mul(V::Mul(x, p), V::Reciprocal(q));
  return V::Max(constant(-0.5f), V::Min(constant(0.5f), h));
}

// Returns x * (1/2 + h(x)).
template <class V>
[[gnu::always_inline]] inline typename V::Reg GeluOf(typename V::Reg x) {
  return V::Fma(x, HalfErfOf<V>(x), V::Mul(V::Broadcast(0.5f), x));
}

// Returns x / (1 + exp(-1.702 * x)). The exponent is limited to 87, so that the quotient stays finite.
template <class V>
[[gnu::always_inline]] inline typename V::Reg QuickGeluOf(typename V::Reg x) {
  const auto e = ExpOf<V>(V::Min(V::Broadcast(87.0f), V::Mul(V::Broadcast(-1.702f), x)));
  return V::Mul(x, V::Reciprocal(V::Add(V::Broadcast(1.0f), e)));
}

// GeluOf as a type, for kernels with a GELU template parameter.
struct QuotientGelu {
  template <class V>
  [[gnu::always_inline]] static typename V::Reg Of(typename V::Reg x) {
    return GeluOf<V>(x);
  }
};

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_GELU_H_
