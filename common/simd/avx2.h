// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_AVX2_H_
#define VITRINE_COMMON_SIMD_AVX2_H_

#include <immintrin.h>

#include <cstdint>

#include "common/simd/four.h"
#include "common/simd/view.h"

// Vector operations for files compiled for AVX2 with FMA; see gelu.h. They are in an anonymous namespace, so that no
// function compiled with these flags is linked into another file.
namespace vitrine::cpu {
namespace {

struct Avx2 {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRegisters = 16;

  static __m256i First(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Reg Broadcast(float value) { return _mm256_set1_ps(value); }
  static Reg Load(const float* from) { return _mm256_loadu_ps(from); }
  static Reg LoadPart(const float* from, int64_t count) { return _mm256_maskload_ps(from, First(count)); }
  static void Store(float* to, Reg v) { _mm256_storeu_ps(to, v); }
  static void StorePart(float* to, Reg v, int64_t count) { _mm256_maskstore_ps(to, First(count), v); }
  static Reg KeepFirst(Reg v, int64_t count) { return _mm256_and_ps(v, _mm256_castsi256_ps(First(count))); }
  static Reg Add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg Sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static Reg Mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg Divide(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  static Reg Root(Reg v) { return _mm256_sqrt_ps(v); }
  static Reg Min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  static Reg Max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg Reciprocal(Reg v) { return _mm256_div_ps(_mm256_set1_ps(1), v); }
  static constexpr bool kLooksUp = false;
  // Combines all lanes: first the two halves of the vector, then the halves of one half, then the two lanes that
  // remain.
  template <class Combine>
  [[gnu::always_inline]] static float Across(Reg v, Combine combine) {
    v = combine(v, _mm256_permute2f128_ps(v, v, 1));
    v = combine(v, _mm256_permute_ps(v, 0x4e));
    return _mm256_cvtss_f32(combine(v, _mm256_permute_ps(v, 0xb1)));
  }
  // Combines the lanes of each of the four vectors.
  template <class Combine>
  [[gnu::always_inline]] static Four Across(const Reg (&v)[4], Combine combine) {
    const Reg first = combine(_mm256_permute2f128_ps(v[0], v[1], 0x20), _mm256_permute2f128_ps(v[0], v[1], 0x31));
    const Reg last = combine(_mm256_permute2f128_ps(v[2], v[3], 0x20), _mm256_permute2f128_ps(v[2], v[3], 0x31));
    // In `first` and `last`, the lower half is from vectors 0 and 2, the upper half from vectors 1 and 3.
    const Reg pairs = combine(_mm256_shuffle_ps(first, last, 0x44), _mm256_shuffle_ps(first, last, 0xee));
    const Reg rows = combine(pairs, _mm256_permute_ps(pairs, 0xb1));
    return (Four)_mm_unpacklo_ps(_mm_permute_ps(_mm256_castps256_ps128(rows), 0x08),
                                 _mm_permute_ps(_mm256_extractf128_ps(rows, 1), 0x08));
  }
  static float Sum(Reg v) { return Across(v, Add); }
  static Reg WhereGreater(Reg a, Reg b, Reg x, Reg y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ));
  }
  static Reg Round(Reg v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Reg TimesPowerOfTwo(Reg v, Reg exponent) {
    const __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(exponent), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(v, _mm256_castsi256_ps(bits));
  }

  static Reg Load(const Bf16* from) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static Reg LoadPart(const Bf16* from, int64_t count) {
    Bf16 whole[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) whole[i] = from[i];
    return Load(whole);
  }
  // Rounds to bf16: to nearest, ties to even.
  static void Store(Bf16* to, Reg v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i halves = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
  }
  static void StorePart(Bf16* to, Reg v, int64_t count) {
    Bf16 whole[kLanes];
    Store(whole, v);
    for (int64_t i = 0; i < count; ++i) to[i] = whole[i];
  }
};

}  // namespace
}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_AVX2_H_
