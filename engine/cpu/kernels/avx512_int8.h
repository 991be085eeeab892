// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_KERNELS_AVX512_INT8_H_
#define VITRINE_ENGINE_CPU_KERNELS_AVX512_INT8_H_

#include "base/simd/avx512.h"
#include "engine/cpu/kernels/narrow_table.h"

// Products of bytes in vectors of 512 bits, for the files built for AVX512_VNNI. In an anonymous namespace as the
// vectors.
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
    const __m128i bytes = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(v));
    if (count >= V::kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    } else {
      _mm_mask_storeu_epi8(to, V::First(count), bytes);
    }
  }
  static float Least(V::Reg v) { return _mm512_reduce_min_ps(v); }
  static float Largest(V::Reg v) { return _mm512_reduce_max_ps(v); }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_AVX512_INT8_H_
