// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX512_BF16_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX512_BF16_H_

#include "common/simd/avx512.h"
#include "models/engine/cpu/kernels/narrow_table.h"

// bf16 products in 512-bit vectors, for files built for AVX512_BF16. Each file has its own copy of this code (anonymous
// namespace).
namespace vitrine::engine {
namespace {

struct Avx512Bf16 {
  using V = cpu::Avx512;
  using Words = __m512i;
  using Sums = __m512;
  static constexpr bool kOfBytes = false;
  static constexpr int kNumbers = 2;

  static Sums Zero() { return _mm512_setzero_ps(); }
  static Words Load(const std::byte* groups) { return _mm512_loadu_si512(groups); }
  static Words Spread(const std::byte* group) {
    int word;
    __builtin_memcpy(&word, group, sizeof(word));
    return _mm512_set1_epi32(word);
  }
  static Sums Dot(Words a, Words w, Sums sums) { return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)w); }
  static V::Reg Floats(Sums sums) { return sums; }
  static void Store(std::byte* to, Words groups) { _mm512_storeu_si512(to, groups); }
  static Words Pair(V::Reg even, V::Reg odd) {
    alignas(64) static constexpr short kInTurn[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), (__m512i)_mm512_cvtne2ps_pbh(odd, even));
  }
  // Transposes in three steps: interleaves the groups of every two rows, then of every four rows, within each quarter
  // of a vector; then joins the quarters.
  static void Turn(const std::byte* rows, int64_t count, std::byte* to, int64_t stride) {
    __m512i pairs[16], fours[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
      const __m512i a = Load(rows + i * 64), b = Load(rows + (i + 1) * 64);
      pairs[i] = _mm512_unpacklo_epi32(a, b);
      pairs[i + 1] = _mm512_unpackhi_epi32(a, b);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
      fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
      fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
      fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    __m512i columns[16];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      constexpr int kEven = 0x88, kOdd = 0xdd;
      const __m512i even = _mm512_shuffle_i32x4(fours[i], fours[i + 4], kEven);
      const __m512i odd = _mm512_shuffle_i32x4(fours[i], fours[i + 4], kOdd);
      const __m512i lower_even = _mm512_shuffle_i32x4(fours[i + 8], fours[i + 12], kEven);
      const __m512i lower_odd = _mm512_shuffle_i32x4(fours[i + 8], fours[i + 12], kOdd);
      columns[i] = _mm512_shuffle_i32x4(even, lower_even, kEven);
      columns[i + 4] = _mm512_shuffle_i32x4(odd, lower_odd, kEven);
      columns[i + 8] = _mm512_shuffle_i32x4(even, lower_even, kOdd);
      columns[i + 12] = _mm512_shuffle_i32x4(odd, lower_odd, kOdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if (i < count) Store(to + i * stride, columns[i]);
    }
  }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX512_BF16_H_
