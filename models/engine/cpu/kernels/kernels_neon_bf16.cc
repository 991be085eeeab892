// SPDX-License-Identifier: Apache-2.0
// bf16 products with the dot product of ARMv8.6. This file includes no library header with inline functions. The linker
// keeps only one copy of an inline function for the whole program. A copy from this file could have ARMv8.6
// instructions, so the program would crash on older CPUs.
#if defined(__aarch64__)  // static analysis reads this file on other CPUs too
#include "models/engine/cpu/kernels/neon_words.h"

namespace vitrine::engine {
namespace {

struct NeonBf16 : NeonWords {
  using Sums = V::Reg;
  static constexpr bool kOfBytes = false;
  static constexpr int kNumbers = 2;

  static Sums Zero() { return V::Broadcast(0); }
  static Sums Dot(Words a, Words w, Sums sums) {
    return vbfdotq_f32(sums, vreinterpretq_bf16_u32(a), vreinterpretq_bf16_u32(w));
  }
  static V::Reg Floats(Sums sums) { return sums; }
  static void Store(std::byte* to, Words groups) {
    vst1q_u8(reinterpret_cast<uint8_t*>(to), vreinterpretq_u8_u32(groups));
  }
  static Words Pair(V::Reg even, V::Reg odd) { return vsriq_n_u32(V::Rounded(odd), V::Rounded(even), 16); }
  // Transposes pairs of rows, then joins their halves.
  static void Turn(const std::byte* rows, int64_t count, std::byte* to, int64_t stride) {
    const Words a = Load(rows), b = Load(rows + 16), c = Load(rows + 32), d = Load(rows + 48);
    const uint64x2_t ab_even = vreinterpretq_u64_u32(vtrn1q_u32(a, b)),
                     ab_odd = vreinterpretq_u64_u32(vtrn2q_u32(a, b));
    const uint64x2_t cd_even = vreinterpretq_u64_u32(vtrn1q_u32(c, d)),
                     cd_odd = vreinterpretq_u64_u32(vtrn2q_u32(c, d));
    const uint64x2_t columns[V::kLanes] = {vtrn1q_u64(ab_even, cd_even), vtrn1q_u64(ab_odd, cd_odd),
                                           vtrn2q_u64(ab_even, cd_even), vtrn2q_u64(ab_odd, cd_odd)};
    for (int64_t i = 0; i < count; ++i) Store(to + i * stride, vreinterpretq_u32_u64(columns[i]));
  }
};

}  // namespace

const NarrowKernels kNeonBf16Kernels = NarrowTableOf<NeonBf16>();

}  // namespace vitrine::engine

#endif
