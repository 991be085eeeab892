// SPDX-License-Identifier: Apache-2.0
// Products of bf16 by AVX512_BF16. Built with its flags, so it includes nothing of the library whose inline functions
// other files share.
#include "base/simd/avx512.h"
#include "engine/cpu/kernels/narrow_table.h"

namespace vitrine::engine {
namespace {

struct Avx512Bf16 {
  using V = cpu::Avx512;
  using Words = __m512i;
  using Sums = __m512;
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
    const __m512i low = _mm512_cvtepu16_epi32(V::Narrow(even)), high = _mm512_cvtepu16_epi32(V::Narrow(odd));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  static float Largest(V::Reg v) { return _mm512_reduce_max_ps(v); }
};

}  // namespace

const NarrowKernels kAvx512Bf16Kernels = NarrowTableOf<Avx512Bf16>();

}  // namespace vitrine::engine
