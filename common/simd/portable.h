// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_PORTABLE_H_
#define VITRINE_COMMON_SIMD_PORTABLE_H_

#include <bit>
#include <cstdint>

#include "common/simd/bf16.h"
#include "common/simd/four.h"
#include "common/simd/view.h"

// Vector operations for any CPU: the compiler's vectors of four floats, which become SSE2, NEON or plain code; see
// gelu.h. They are in an anonymous namespace, like the operations for other CPUs (avx2.h).
namespace vitrine::cpu {
namespace {

struct Portable {
  typedef float Reg __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static constexpr int kRegisters = 16;

  static Reg Broadcast(float value) { return Reg{value, value, value, value}; }
  static Reg Load(const float* from) {
    Reg v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
  }
  static Reg LoadPart(const float* from, int64_t count) {
    Reg v = {};
    for (int64_t i = 0; i < count; ++i) v[i] = from[i];
    return v;
  }
  static void Store(float* to, Reg v) { __builtin_memcpy(to, &v, sizeof(v)); }
  static void StorePart(float* to, Reg v, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = v[i];
  }
  static Reg KeepFirst(Reg v, int64_t count) {
    for (int64_t i = count; i < kLanes; ++i) v[i] = 0;
    return v;
  }
  static Reg Add(Reg a, Reg b) { return a + b; }
  static Reg Sub(Reg a, Reg b) { return a - b; }
  static Reg Mul(Reg a, Reg b) { return a * b; }
  static Reg Divide(Reg a, Reg b) { return a / b; }
  static Reg Root(Reg v) { return RootOf(v); }
  static Reg Min(Reg a, Reg b) { return a < b ? a : b; }
  static Reg Max(Reg a, Reg b) { return a > b ? a : b; }
  // Rounds twice. On CPUs without an FMA instruction, std::fma would be a slow library call.
  static Reg Fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg Reciprocal(Reg v) { return Broadcast(1) / v; }
  static constexpr bool kLooksUp = false;
  // Combines all lanes: first the halves, then the two remaining lanes.
  template <class Combine>
  static float Across(Reg v, Combine combine) {
    v = combine(v, Reg{v[2], v[3], v[0], v[1]});
    return combine(v, Reg{v[1], v[0], v[3], v[2]})[0];
  }
  // Combines the lanes of each of the four vectors.
  template <class Combine>
  static Four Across(const Reg (&v)[4], Combine combine) {
    return Four{Across(v[0], combine), Across(v[1], combine), Across(v[2], combine), Across(v[3], combine)};
  }
  static float Sum(Reg v) { return Across(v, Add); }
  static Reg WhereGreater(Reg a, Reg b, Reg x, Reg y) { return a > b ? x : y; }
  static Reg Round(Reg v) {
    const Reg magic = Broadcast(12582912.0f);  // 1.5 * 2^23: after adding it, no fraction bits are left
    return (v + magic) - magic;
  }
  static Reg TimesPowerOfTwo(Reg v, Reg exponent) {
    for (int i = 0; i < kLanes; ++i) {
      // An infinite or NaN exponent cannot be converted and is replaced by 0; `v` is then not finite either.
      const float e = exponent[i] > -1024 && exponent[i] < 1024 ? exponent[i] : 0;
      v[i] *= std::bit_cast<float>(static_cast<uint32_t>(static_cast<int32_t>(e) + 127) << 23);
    }
    return v;
  }

  static Reg Load(const Bf16* from) { return LoadPart(from, kLanes); }
  static Reg LoadPart(const Bf16* from, int64_t count) {
    Reg v = {};
    for (int64_t i = 0; i < count; ++i) v[i] = ToFloat(from[i]);
    return v;
  }
  static void Store(Bf16* to, Reg v) { StorePart(to, v, kLanes); }
  static void StorePart(Bf16* to, Reg v, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = ToBf16(v[i]);
  }
};

}  // namespace
}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_PORTABLE_H_
