// SPDX-License-Identifier: Apache-2.0
// int8 products with the dot product of ARMv8.2, which cannot multiply unsigned by signed bytes. This file includes no
// library header with inline functions. The linker keeps only one copy of an inline function for the whole program. A
// copy from this file could have ARMv8.2 instructions, so the program would crash on older CPUs.
#if defined(__aarch64__)  // static analysis reads this file on other CPUs too
#include "models/engine/cpu/kernels/neon_words.h"

namespace vitrine::engine {
namespace {

struct NeonInt8 : NeonWords {
  using Sums = int32x4_t;
  static constexpr bool kOfBytes = true;
  static constexpr bool kStoresFour = false;
  static constexpr int kNumbers = 4;

  static Sums Zero() { return vdupq_n_s32(0); }
  // Subtracts 128 from the bytes to make them signed, and adds 128 times the weights to correct the sum. This
  // correction (`less`) depends only on the weights, so it is computed once for all rows of a tile. All sums are exact:
  // the sum of a group has at most 18 bits.
  static Sums Dot(Words bytes, Words weights, Sums sums) {
    const int8x16_t w = vreinterpretq_s8_u32(weights);
    const Sums less = vdotq_s32(Zero(), w, vdupq_n_s8(-128));
    const Words signs = vdupq_n_u32(0x80808080);
    return vdotq_s32(vsubq_s32(sums, less), vreinterpretq_s8_u32(veorq_u32(bytes, signs)), w);
  }
  static V::Reg Floats(Sums sums) { return vcvtq_f32_s32(sums); }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    const uint16x4_t halves = vmovn_u32(vreinterpretq_u32_f32(v));
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(halves, halves))), 0);
    __builtin_memcpy(to, &bytes, static_cast<size_t>(count < V::kLanes ? count : V::kLanes));
  }
};

}  // namespace

const NarrowKernels kNeonInt8Kernels = NarrowTableOf<NeonInt8>();

}  // namespace vitrine::engine

#endif
