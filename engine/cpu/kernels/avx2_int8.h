// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_KERNELS_AVX2_INT8_H_
#define VITRINE_ENGINE_CPU_KERNELS_AVX2_INT8_H_

#include "base/simd/avx2.h"
#include "engine/cpu/kernels/narrow_table.h"

// Products of bytes in vectors of 256 bits, for the file built for AVX-VNNI; a test builds them for AVX512_VNNI, which
// has the same instruction under another code. In an anonymous namespace as the vectors.
namespace vitrine::engine {
namespace {

struct Avx2Int8 {
  using V = cpu::Avx2;
  using Words = __m256i;
  using Sums = __m256i;
  static constexpr int kNumbers = 4;

  static Sums Zero() { return _mm256_setzero_si256(); }
  static Words Load(const std::byte* groups) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(groups)); }
  static Words Spread(const std::byte* group) {
    int word;
    __builtin_memcpy(&word, group, sizeof(word));
    return _mm256_set1_epi32(word);
  }
  static Sums Dot(Words bytes, Words weights, Sums sums) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sums, bytes, weights);
#else
    return _mm256_dpbusd_epi32(sums, bytes, weights);
#endif
  }
  static V::Reg Floats(Sums sums) {
    return _mm256_cvtepi32_ps(sums);
  }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    const __m256i words = _mm256_cvtps_epi32(v);
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    const __m128i bytes = _mm_packus_epi16(halves, halves);
    __builtin_memcpy(to, &bytes, static_cast<size_t>(count < V::kLanes ? count : V::kLanes));
  }
  static float Least(V::Reg v) {
    float lanes[V::kLanes], least;
    V::Store(lanes, v);
    least = lanes[0];
    for (const float lane : lanes) least = lane < least ? lane : least;
    return least;
  }
  static float Largest(V::Reg v) {
    float lanes[V::kLanes], largest;
    V::Store(lanes, v);
    largest = lanes[0];
    for (const float lane : lanes) largest = lane > largest ? lane : largest;
    return largest;
  }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_AVX2_INT8_H_
