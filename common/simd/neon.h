// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_NEON_H_
#define VITRINE_COMMON_SIMD_NEON_H_

#include <arm_neon.h>

#include <cstdint>

#include "common/simd/four.h"
#include "common/simd/view.h"

// Vector operations for AArch64, whose CPUs all have NEON; see gelu.h. They are in an anonymous namespace, like the
// operations for other CPUs (avx2.h).
namespace vitrine::cpu {
namespace {

struct Neon {
  using Reg = float32x4_t;
  static constexpr int kLanes = 4;
  static constexpr int kRegisters = 32;

  static uint32x4_t First(int64_t count) {
    constexpr int32_t kLane[kLanes] = {0, 1, 2, 3};
    return vcltq_s32(vld1q_s32(kLane), vdupq_n_s32(static_cast<int32_t>(count)));
  }
  static Reg Broadcast(float value) { return vdupq_n_f32(value); }
  static Reg Load(const float* from) { return vld1q_f32(from); }
  static Reg LoadPart(const float* from, int64_t count) {
    float whole[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) whole[i] = from[i];
    return Load(whole);
  }
  static void Store(float* to, Reg v) { vst1q_f32(to, v); }
  static void StorePart(float* to, Reg v, int64_t count) {
    float whole[kLanes];
    Store(whole, v);
    for (int64_t i = 0; i < count; ++i) to[i] = whole[i];
  }
  static Reg KeepFirst(Reg v, int64_t count) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), First(count)));
  }
  static Reg Add(Reg a, Reg b) { return vaddq_f32(a, b); }
  static Reg Sub(Reg a, Reg b) { return vsubq_f32(a, b); }
  static Reg Mul(Reg a, Reg b) { return vmulq_f32(a, b); }
  static Reg Divide(Reg a, Reg b) { return vdivq_f32(a, b); }
  static Reg Root(Reg v) { return vsqrtq_f32(v); }
  // Min and Max do not use vminq and vmaxq, so that the result for a NaN is `b`, like on other CPUs.
  static Reg Min(Reg a, Reg b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static Reg Max(Reg a, Reg b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return vfmaq_f32(c, a, b); }
  static Reg Reciprocal(Reg v) { return vdivq_f32(vdupq_n_f32(1), v); }
  static constexpr bool kLooksUp = false;
  // Combines all lanes: first the halves, then the two remaining lanes.
  template <class Combine>
  [[gnu::always_inline]] static float Across(Reg v, Combine combine) {
    v = combine(v, vextq_f32(v, v, 2));
    return vgetq_lane_f32(combine(v, vrev64q_f32(v)), 0);
  }
  // Combines the lanes of each of the four vectors.
  template <class Combine>
  [[gnu::always_inline]] static Four Across(const Reg (&v)[4], Combine combine) {
    // Combines the halves of each row, two rows per vector; then the two remaining lanes of each row.
    const Reg first = combine(vzip1q_f32(v[0], v[1]), vzip2q_f32(v[0], v[1]));
    const Reg last = combine(vzip1q_f32(v[2], v[3]), vzip2q_f32(v[2], v[3]));
    return (Four)combine(vcombine_f32(vget_low_f32(first), vget_low_f32(last)),
                         vcombine_f32(vget_high_f32(first), vget_high_f32(last)));
  }
  static float Sum(Reg v) { return Across(v, Add); }
  static Reg WhereGreater(Reg a, Reg b, Reg x, Reg y) { return vbslq_f32(vcgtq_f32(a, b), x, y); }
  static Reg Round(Reg v) { return vrndnq_f32(v); }
  static Reg TimesPowerOfTwo(Reg v, Reg exponent) {
    const int32x4_t bits = vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(exponent), vdupq_n_s32(127)), 23);
    return vmulq_f32(v, vreinterpretq_f32_s32(bits));
  }

  static Reg Load(const Bf16* from) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t*>(from)), 16));
  }
  static Reg LoadPart(const Bf16* from, int64_t count) {
    Bf16 whole[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) whole[i] = from[i];
    return Load(whole);
  }
  // Rounds to bf16: to nearest, ties to even. The results are the upper halves of the lanes.
  static uint32x4_t Rounded(Reg v) {
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vbslq_u32(vceqq_f32(v, v), rounded, quiet);
  }
  static void Store(Bf16* to, Reg v) { vst1_u16(reinterpret_cast<uint16_t*>(to), vshrn_n_u32(Rounded(v), 16)); }
  static void StorePart(Bf16* to, Reg v, int64_t count) {
    Bf16 whole[kLanes];
    Store(whole, v);
    for (int64_t i = 0; i < count; ++i) to[i] = whole[i];
  }
};

}  // namespace
}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_NEON_H_
