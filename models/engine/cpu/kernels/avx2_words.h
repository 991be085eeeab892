// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX2_WORDS_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX2_WORDS_H_

#include "common/simd/avx2.h"
#include "models/engine/cpu/kernels/narrow_table.h"

// Operations of int8 products in 256-bit vectors, except the multiplication of groups (narrow_kernels.h). Each file
// that includes this header has its own copy of these functions (anonymous namespace), compiled with its own flags.
namespace vitrine::engine {
namespace {

struct Avx2Words {
  using V = cpu::Avx2;
  using Words = __m256i;
  using Sums = __m256i;
  static constexpr bool kOfBytes = true;
  static constexpr bool kStoresFour = false;

  static Sums Zero() { return _mm256_setzero_si256(); }
  static Words Load(const std::byte* groups) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(groups)); }
  static Words Spread(const std::byte* group) {
    int word;
    __builtin_memcpy(&word, group, sizeof(word));
    return _mm256_set1_epi32(word);
  }
  static V::Reg Floats(Sums sums) { return _mm256_cvtepi32_ps(sums); }
  // Returns the lowest byte of each lane, extended to 16 bits.
  static __m128i Halves(V::Reg v) {
    const __m256i words = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0xff));
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX2_WORDS_H_
