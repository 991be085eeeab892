// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX2_INT8_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX2_INT8_H_

#include "models/engine/cpu/kernels/avx2_words.h"

// int8 products in 256-bit vectors, for the file built for AVX-VNNI. A test also builds this code for AVX512_VNNI,
// which has the same instruction in another encoding.
namespace vitrine::engine {
namespace {

struct Avx2Int8 : Avx2Words {
  static constexpr int kNumbers = 4;

  static Sums Dot(Words bytes, Words weights, Sums sums) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sums, bytes, weights);
#else
    return _mm256_dpbusd_epi32(sums, bytes, weights);
#endif
  }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    const __m128i halves = Halves(v), bytes = _mm_packus_epi16(halves, halves);
    __builtin_memcpy(to, &bytes, static_cast<size_t>(count < V::kLanes ? count : V::kLanes));
  }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_AVX2_INT8_H_
