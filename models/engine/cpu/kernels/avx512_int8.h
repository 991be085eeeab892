// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX512_INT8_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX512_INT8_H_

#include "common/simd/avx512.h"
#include "models/engine/cpu/kernels/narrow_table.h"

// int8 products in 512-bit vectors, for files built for AVX512_VNNI. Each file has its own copy of this code (anonymous
// namespace).
namespace vitrine::engine {
namespace {

struct Avx512Int8 {
  using V = cpu::Avx512;
  using Words = __m512i;
  using Sums = __m512i;
  static constexpr bool kOfBytes = true;
  static constexpr int kNumbers = 4;

  static Sums Zero() { return _mm512_setzero_si512(); }
  static Words Load(const std::byte* groups) { return _mm512_loadu_si512(groups); }
  static Words Spread(const std::byte* group) {
    int word;
    __builtin_memcpy(&word, group, sizeof(word));
    return _mm512_set1_epi32(word);
  }
  static Sums Dot(Words bytes, Words weights, Sums sums) { return _mm512_dpbusd_epi32(sums, bytes, weights); }
  static V::Reg Floats(Sums sums) { return _mm512_cvtepi32_ps(sums); }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_castps_si512(v));
    if (count >= V::kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    } else {
      _mm_mask_storeu_epi8(to, V::First(count), bytes);
    }
  }
  static constexpr bool kStoresFour = true;
  // Stores the lowest byte of each lane. The lower half of each lane must be below 256.
  static void StoreFour(std::byte* to, V::Reg a, V::Reg b, V::Reg c, V::Reg d) {
    alignas(64) static constexpr short kLower[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                                     32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
    const __m512i lower = _mm512_load_si512(kLower);
    const __m512i first = _mm512_permutex2var_epi16(_mm512_castps_si512(a), lower, _mm512_castps_si512(b));
    const __m512i second = _mm512_permutex2var_epi16(_mm512_castps_si512(c), lower, _mm512_castps_si512(d));
    const __m512i quarters = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);  // packus packs each quarter separately
    _mm512_storeu_si512(to, _mm512_permutexvar_epi64(quarters, _mm512_packus_epi16(first, second)));
  }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX512_INT8_H_
