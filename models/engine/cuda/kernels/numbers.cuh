// SPDX-License-Identifier: Apache-2.0
// Functions of single numbers, with the same operations as on the CPU (common/simd, models/engine/cpu/kernels).
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_NUMBERS_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_NUMBERS_CUH_

#include <cstdint>

#include "models/engine/cpu/kernels/engine_gelu.h"
#include "models/engine/cpu/kernels/narrow_gelu.h"
#include "models/engine/cuda/device/device.h"
#include "models/engine/cuda/kernels/arguments.h"

namespace vitrine::cuda {

// --- like the CPU's instructions, Least and Most return the second operand if either operand is NaN

VITRINE_DEVICE float Least(float a, float b) {
  return a < b ? a : b;
}
VITRINE_DEVICE float Most(float a, float b) {
  return a > b ? a : b;
}

// --- activations

struct GeluPieces {
  float half_erf[4][engine::kPieces];
  float narrow[3][engine::kPieces];
};
constexpr GeluPieces MakeGeluPieces() {
  GeluPieces pieces = {};
  for (int i = 0; i < engine::kPieces; ++i) {
    for (int degree = 0; degree < 4; ++degree) pieces.half_erf[degree][i] = engine::kPiecesOfHalfErf[degree][i];
    for (int degree = 0; degree < 3; ++degree)
      pieces.narrow[degree][i] = engine::NarrowPieces::kCoefficients[degree][i];
  }
  return pieces;
}
VITRINE_TABLE GeluPieces kGeluPieces = MakeGeluPieces();
inline constexpr float kWholeNumbers = 8388608.0F;  // 2^23: after adding it, no fraction bits are left

// Computes engine::EngineGelu.
VITRINE_DEVICE float Gelu(float x) {
  constexpr float kWidth = engine::kPieceWidth, kInverse = 1 / engine::kPieceWidth;
  const float size = FloatOf(BitsOf(x) & 0x7fffffffu);
  const float u = Least(size, kWidth * (engine::kPieces - 1));
  const float piece = Fma(u, kInverse, kWholeNumbers);
  const float d = Fma(kWholeNumbers - piece, kWidth, u);
  const uint32_t i = BitsOf(piece) % engine::kPieces;
  float h = kGeluPieces.half_erf[3][i];
  h = Fma(h, d, kGeluPieces.half_erf[2][i]);
  h = Fma(h, d, kGeluPieces.half_erf[1][i]);
  h = Fma(h, d, kGeluPieces.half_erf[0][i]);
  return Fma(size, h, 0.5F * x);
}

// Computes engine::NarrowGelu.
VITRINE_DEVICE float NarrowGelu(float x) {
  constexpr float kWidth = engine::NarrowPieces::kWidth, kBelow = engine::NarrowPieces::kBelow;
  constexpr float kInverse = 1 / kWidth, kTop = kWidth * engine::NarrowPieces::kAbove;
  const float inside = Least(Most(x, -kWidth * kBelow), kTop);
  const uint32_t i = BitsOf(Fma(inside, kInverse, kWholeNumbers + kBelow)) % engine::kPieces;
  const float slope = Fma(x, kGeluPieces.narrow[2][i], kGeluPieces.narrow[1][i]);
  return Fma(x, slope, kGeluPieces.narrow[0][i]);
}

// --- powers

// Returns x * 2^n. `n` must be an integer or NaN; if n is NaN, returns x.
VITRINE_DEVICE float TimesPowerOfTwo(float x, float n) {
  const int exponent = n > -1024 && n < 1024 ? static_cast<int>(n) : 0;
  return x * FloatOf(static_cast<uint32_t>(exponent + 127) << 23);
}

// Computes cpu::ExpOf.
VITRINE_DEVICE float Exp(float x) {
  x = Most(-87.0F, x);
  const float n = Round(x * 1.44269504F);
  float r = Fma(n, -0.693359375F, x);
  r = Fma(n, 2.12194440e-4F, r);
  float p = Fma(1.9875691500e-4F, r, 1.3981999507e-3F);
  p = Fma(p, r, 8.3334519073e-3F);
  p = Fma(p, r, 4.1665795894e-2F);
  p = Fma(p, r, 1.6666665459e-1F);
  p = Fma(p, r, 5.0000001201e-1F);
  p = Fma(p * r, r, r + 1);
  return TimesPowerOfTwo(p, n);
}

// Computes cpu::QuickGeluOf.
VITRINE_DEVICE float QuickGelu(float x) {
  return x * (1 / (1 + Exp(Least(87.0F, -1.702F * x))));
}

VITRINE_DEVICE float Activated(float x, Activation activation, bool narrow) {
  if (activation == Activation::kGelu) return narrow ? NarrowGelu(x) : Gelu(x);
  return activation == Activation::kRelu ? Most(0, x) : x;
}
// Like Activated, but also supports QuickGELU. Only products need QuickGELU. In other kernels, its code would need
// additional registers.
VITRINE_DEVICE float ActivatedProduct(float x, Activation activation, bool narrow) {
  return activation == Activation::kQuickGelu ? QuickGelu(x) : Activated(x, activation, narrow);
}

// Computes engine::PowerOfTwo: 2^x for x <= 0. The result is accurate enough for weights that are then rounded to bf16.
VITRINE_DEVICE float PowerOfTwo(float x) {
  x = Most(-126.0F, x);
  const float n = Round(x), r = x - n;
  float p = Fma(0.0551716691F, r, 0.242611122F);
  p = Fma(p, r, 0.693260985F);
  p = Fma(p, r, 0.999928074F);
  return TimesPowerOfTwo(p, n);
}

// Computes PowerOfTwo in fewer instructions, for x <= 0. Adding 1.5 x 2^23 rounds x to a whole number and leaves that
// number in the low bits. For x below -125, the result is at most 2^-125; NaN stays NaN.
VITRINE_DEVICE float FastPowerOfTwo(float x) {
  constexpr float kRounds = 12582912.0F;
  x = MostOrNan(-125.0F, x);
  const float whole = x + kRounds, r = x - (whole - kRounds);
  float p = Fma(0.0551716691F, r, 0.242611122F);
  p = Fma(p, r, 0.693260985F);
  p = Fma(p, r, 0.999928074F);
  return p * FloatOf((BitsOf(whole) << 23) + 0x3f800000u);
}

// --- bf16

// Rounds to bf16: to nearest, ties to even; NaN stays NaN.
VITRINE_DEVICE float RoundToBf16(float x) {
  const uint32_t bits = BitsOf(x);
  if (x != x) return FloatOf((bits & 0xffff0000u) | 0x400000u);
  return FloatOf((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}
VITRINE_DEVICE float FromBf16(uint16_t bits) {
  return FloatOf(static_cast<uint32_t>(bits) << 16);
}
// Returns the two bf16 numbers of a word, the low half first.
VITRINE_DEVICE Float2 FloatsOf(uint32_t word) {
  return {{FloatOf(word << 16), FloatOf(word & 0xffff0000u)}};
}

// --- sums over a row, in the order in which the CPU adds with vectors of 16 lanes

inline constexpr int kLanes = 16;

template <class Combine>
VITRINE_DEVICE float AcrossLanes(float (&lanes)[kLanes], Combine combine) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}
VITRINE_DEVICE float SumOfLanes(float (&lanes)[kLanes]) {
  return AcrossLanes(lanes, [](float a, float b) { return a + b; });
}

// Computes cpu::SumsOfRows: the sum of value(0) to value(columns - 1).
template <class Value>
VITRINE_DEVICE float SumOfRow(int columns, Value value) {
  float even[kLanes] = {}, odd[kLanes] = {};
  const int pairs = columns / (2 * kLanes) * (2 * kLanes), whole = columns / kLanes * kLanes;
  for (int j = 0; j < columns; ++j) {
    // Vectors alternate between `even` and `odd`. If a whole vector is left after the pairs of vectors, it is added to
    // `even`. The last, incomplete vector is always added to `odd`.
    const bool is_even = j < pairs ? j / kLanes % 2 == 0 : j < whole;
    if (is_even) {
      even[j % kLanes] += value(j);
    } else {
      odd[j % kLanes] += value(j);
    }
  }
  for (int i = 0; i < kLanes; ++i) even[i] += odd[i];
  return SumOfLanes(even);
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_NUMBERS_CUH_
