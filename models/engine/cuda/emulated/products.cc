// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/products.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vitrine::cuda::emulated {
namespace {

enum class Direction { kNearest, kZero, kUp, kDown };

float ToFloat(uint16_t bf16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
}

// Returns the exponent of a float. A denormal has the exponent of the smallest normal number.
int ExponentOf(float value) {
  return std::max(static_cast<int>(std::bit_cast<uint32_t>(value) >> 23 & 0xff), 1) - 127;
}

// The product of two floats: significand * 2^exponent.
struct Term {
  __int128 significand;
  int exponent;
  int nominal;  // sum of the exponents of the two floats
};

Term TermOf(float a, float b) {
  const auto integer = [](float value, int exponent) { return static_cast<int64_t>(std::ldexp(value, 23 - exponent)); };
  const int ea = ExponentOf(a), eb = ExponentOf(b);
  return {__int128{integer(a, ea)} * integer(b, eb), ea + eb - 46, ea + eb};
}

__int128 Shifted(__int128 value, int left) {
  if (left >= 0) return value << left;
  if (left < -120) return 0;
  return value < 0 ? -(-value >> -left) : value >> -left;  // towards zero
}

// Rounds significand * 2^exponent to fp32.
float ToFp32(__int128 significand, int exponent, Direction direction) {
  const bool negative = significand < 0;
  auto size = static_cast<unsigned __int128>(negative ? -significand : significand);
  int bits = 0;
  while (bits < 127 && (size >> bits) != 0) ++bits;
  const int cut = std::max(bits - 24, -126 - 23 - exponent);
  if (cut > 0) {
    if (cut > 126) return negative ? -0.0F : 0.0F;
    const unsigned __int128 rest = size & ((static_cast<unsigned __int128>(1) << cut) - 1);
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (cut - 1);
    size >>= cut;
    exponent += cut;
    const bool away = direction == Direction::kNearest ? rest > half || (rest == half && (size & 1) != 0)
                      : direction == Direction::kUp    ? rest != 0 && !negative
                      : direction == Direction::kDown  ? rest != 0 && negative
                                                       : false;
    if (away) ++size;
  }
  const double value = std::ldexp(static_cast<double>(size), exponent);
  return static_cast<float>(negative ? -value : value);
}

// Sums the products and `c`. Before the sum, each term is truncated to a multiple of 2^(e - bits), where e is the
// largest exponent of all terms.
float AlignedSum(std::span<const uint16_t> a, std::span<const uint16_t> b, float c, int bits, Direction direction) {
  Term terms[17];
  size_t count = 0;
  const auto add = [&](Term term) {
    if (term.significand != 0) terms[count++] = term;
  };
  for (size_t i = 0; i < a.size(); ++i) {
    const float x = ToFloat(a[i]), y = ToFloat(b[i]);
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(c)) {
      for (size_t j = 0; j < a.size(); ++j) c += ToFloat(a[j]) * ToFloat(b[j]);
      return c;
    }
    add(TermOf(x, y));
  }
  add(TermOf(c, 1));
  if (count == 0) return 0;
  int largest = terms[0].nominal;
  for (size_t i = 1; i < count; ++i) largest = std::max(largest, terms[i].nominal);
  __int128 sum = 0;
  for (size_t i = 0; i < count; ++i) sum += Shifted(terms[i].significand, terms[i].exponent - (largest - bits));
  return ToFp32(sum, largest - bits, direction);
}

}  // namespace

float SumOfProducts(std::span<const uint16_t, 16> a, std::span<const uint16_t, 16> b, float c, RoundingModel model,
                    std::mt19937_64& random) {
  constexpr int kAll = 70;  // if exponents differ by more, the smaller term does not affect the rounding in any test
  switch (model) {
    case RoundingModel::kNearest:
      return AlignedSum(a, b, c, kAll, Direction::kNearest);
    case RoundingModel::kSm80:
      c = AlignedSum(a.first(8), b.first(8), c, 24, Direction::kZero);
      return AlignedSum(a.last(8), b.last(8), c, 24, Direction::kZero);
    case RoundingModel::kSm90:
      return AlignedSum(a, b, c, 25, Direction::kZero);
    case RoundingModel::kRandom:
      return AlignedSum(a, b, c, kAll, random() % 2 == 0 ? Direction::kUp : Direction::kDown);
  }
  return c;
}

// Lane 4 g + t holds parts of rows g and g + 8 of `a` and of column g of `b`, and columns 2 t and 2 t + 1 of rows g and
// g + 8 of `d`. The product sums over an index k. The first two words of `a` hold values of the two rows for the first
// half of k, the next two words for the second half.
void AddProductBf16(Fragments fragments, int lane, RoundingModel model, std::mt19937_64& random, float (&d)[4]) {
  const auto g = static_cast<size_t>(lane) / 4, t = static_cast<size_t>(lane) % 4;
  for (size_t i = 0; i < 4; ++i) {
    const size_t row = g + 8 * (i / 2), column = 2 * t + i % 2;
    std::array<uint16_t, 16> a, b;
    for (size_t k = 0; k < 16; ++k) {
      const size_t part = k % 8 / 2, shift = 16 * (k % 2);
      const auto& left = fragments[row % 8 * 4 + part];
      const auto& right = fragments[column * 4 + part];
      a[k] = static_cast<uint16_t>(left[row / 8 + 2 * (k / 8)] >> shift);
      b[k] = static_cast<uint16_t>(right[4 + k / 8] >> shift);
    }
    d[i] = SumOfProducts(a, b, d[i], model, random);
  }
}

void AddProductBytes(Fragments fragments, int lane, int32_t (&d)[4]) {
  const auto g = static_cast<size_t>(lane) / 4, t = static_cast<size_t>(lane) % 4;
  for (size_t i = 0; i < 4; ++i) {
    const size_t row = g + 8 * (i / 2), column = 2 * t + i % 2;
    for (size_t k = 0; k < 32; ++k) {
      const size_t part = k % 16 / 4, shift = 8 * (k % 4);
      const uint32_t left = fragments[row % 8 * 4 + part][row / 8 + 2 * (k / 16)];
      const uint32_t right = fragments[column * 4 + part][4 + k / 16];
      d[i] += static_cast<int32_t>(left >> shift & 0xff) * static_cast<int8_t>(right >> shift & 0xff);
    }
  }
}

}  // namespace vitrine::cuda::emulated
