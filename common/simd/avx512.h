// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_AVX512_H_
#define VITRINE_COMMON_SIMD_AVX512_H_

#include <immintrin.h>

#include <cstdint>

#include "common/simd/four.h"
#include "common/simd/view.h"

// Vector operations for files compiled for AVX-512; see gelu.h. They are in an anonymous namespace, so that no function
// compiled with these flags is linked into another file.
namespace vitrine::cpu {
namespace {

struct Avx512 {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kRegisters = 32;

  static __mmask16 First(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
  static Reg Broadcast(float value) { return _mm512_set1_ps(value); }
  static Reg Load(const float* from) { return _mm512_loadu_ps(from); }
  static Reg LoadPart(const float* from, int64_t count) { return _mm512_maskz_loadu_ps(First(count), from); }
  static void Store(float* to, Reg v) { _mm512_storeu_ps(to, v); }
  static void StorePart(float* to, Reg v, int64_t count) { _mm512_mask_storeu_ps(to, First(count), v); }
  static Reg KeepFirst(Reg v, int64_t count) { return _mm512_maskz_mov_ps(First(count), v); }
  static Reg Add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg Sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static Reg Mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg Divide(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  static Reg Root(Reg v) { return _mm512_sqrt_ps(v); }
  static Reg Min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  static Reg Max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  // Returns 1 / v. The instruction gives 14 correct bits; one Newton step doubles this number.
  static Reg Reciprocal(Reg v) {
    const Reg guess = _mm512_rcp14_ps(v);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(v, guess, _mm512_set1_ps(1)), guess, guess);
  }
  // True: this class has Magnitude and LookUp.
  static constexpr bool kLooksUp = true;
  static Reg Magnitude(Reg v) { return _mm512_abs_ps(v); }
  // Returns table[lowest five bits of the index] for each lane. `table` has 32 floats, aligned to 64 bytes.
  static Reg LookUp(const float* table, Reg index) {
    return _mm512_permutex2var_ps(_mm512_load_ps(table), _mm512_castps_si512(index), _mm512_load_ps(table + 16));
  }
  static constexpr int kLowerHalf = 0x44, kUpperHalf = 0xee, kEvenQuarters = 0x88, kOddQuarters = 0xdd;
  // Combines all lanes: first the halves of the vector, then its quarters, then the halves of a quarter, then the two
  // lanes that remain.
  template <class Combine>
  [[gnu::always_inline]] static float Across(Reg v, Combine combine) {
    v = combine(v, _mm512_shuffle_f32x4(v, v, 0x4e));
    v = combine(v, _mm512_shuffle_f32x4(v, v, 0xb1));
    return _mm512_cvtss_f32(WithinQuarters(v, combine));
  }
  // Combines the lanes of each of the four vectors. Needs less than half of the operations of four calls for one
  // vector.
  template <class Combine>
  [[gnu::always_inline]] static Four Across(const Reg (&v)[4], Combine combine) {
    const Reg first =
        combine(_mm512_shuffle_f32x4(v[0], v[1], kLowerHalf), _mm512_shuffle_f32x4(v[0], v[1], kUpperHalf));
    const Reg last =
        combine(_mm512_shuffle_f32x4(v[2], v[3], kLowerHalf), _mm512_shuffle_f32x4(v[2], v[3], kUpperHalf));
    const Reg quarters =
        combine(_mm512_shuffle_f32x4(first, last, kEvenQuarters), _mm512_shuffle_f32x4(first, last, kOddQuarters));
    const __m512i one_of_each = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    return (Four)_mm512_castps512_ps128(_mm512_permutexvar_ps(one_of_each, WithinQuarters(quarters, combine)));
  }
  template <class Combine>
  [[gnu::always_inline]] static Reg WithinQuarters(Reg v, Combine combine) {
    v = combine(v, _mm512_permute_ps(v, 0x4e));
    return combine(v, _mm512_permute_ps(v, 0xb1));
  }
  static float Sum(Reg v) { return Across(v, Add); }
  // Returns x where a > b, otherwise y.
  static Reg WhereGreater(Reg a, Reg b, Reg x, Reg y) {
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), x);
  }
  static Reg Round(Reg v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Reg TimesPowerOfTwo(Reg v, Reg exponent) { return _mm512_scalef_ps(v, exponent); }

  static Reg Widen(__m256i halves) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16)); }
  static Reg Load(const Bf16* from) { return Widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))); }
  static Reg LoadPart(const Bf16* from, int64_t count) { return Widen(_mm256_maskz_loadu_epi16(First(count), from)); }
  static void Store(Bf16* to, Reg v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), Narrow(v)); }
  static void StorePart(Bf16* to, Reg v, int64_t count) { _mm256_mask_storeu_epi16(to, First(count), Narrow(v)); }
  // Rounds to bf16: to nearest, ties to even.
  static __m256i Narrow(Reg v) {
#ifdef __AVX512BF16__
    return (__m256i)_mm512_cvtneps_pbh(v);
#else
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i kept = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16));
#endif
  }
};

}  // namespace
}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_AVX512_H_
