// SPDX-License-Identifier: Apache-2.0
// int8 products with AVX2 only. AVX2's instruction for bytes saturates the sum of two products at 16 bits, so weights
// could use only half of their range. The instruction for pairs of 16-bit numbers is exact, and multiplies twice as
// many numbers as the fp32 instruction. Each int8 is therefore stored in 16 bits.
#include "models/engine/cpu/kernels/avx2_words.h"

namespace vitrine::engine {
namespace {

struct Avx2Pairs : Avx2Words {
  static constexpr int kNumbers = 2;

  static Sums Dot(Words bytes, Words weights, Sums sums) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(bytes, weights));
  }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    const __m128i halves = Halves(v);
    __builtin_memcpy(to, &halves, 2 * static_cast<size_t>(count < V::kLanes ? count : V::kLanes));
  }
};

}  // namespace

const NarrowKernels kAvx2PairsKernels = NarrowTableOf<Avx2Pairs>();

}  // namespace vitrine::engine
