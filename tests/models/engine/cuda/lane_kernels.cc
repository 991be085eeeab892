// SPDX-License-Identifier: Apache-2.0
// The engine's kernels with vectors of 16 floats (lanes.h). This file has its own compiler options, like the engine's
// files for instruction sets.
#include <cmath>
#include <cstdint>

#include "common/simd/bf16.h"
#include "common/simd/four.h"
#include "models/engine/cpu/kernels/narrow_table.h"
#include "models/engine/cpu/kernels/table.h"
#include "tests/models/engine/cuda/lanes.h"

namespace vitrine::testing {
namespace {

using cpu::Bf16;
using cpu::Four;

constexpr int kCount = 16;

template <class Number>
struct Vector {
  Number lane[kCount];
};

// Returns a vector whose lane i is function(lane i of each argument).
template <class Function, class... Vectors>
[[gnu::always_inline]] inline Vector<float> Each(Function function, const Vectors&... v) {
  Vector<float> result;
  for (int i = 0; i < kCount; ++i) result.lane[i] = function(v.lane[i]...);
  return result;
}

struct Lanes {
  using Reg = Vector<float>;
  static constexpr int kLanes = kCount;
  static constexpr int kRegisters = kCount == 16 ? 32 : 16;

  static Reg Broadcast(float value) {
    Reg v;
    for (float& lane : v.lane) lane = value;
    return v;
  }
  static Reg Load(const float* from) {
    Reg v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
  }
  static Reg LoadPart(const float* from, int64_t count) {
    Reg v = {};
    for (int64_t i = 0; i < count; ++i) v.lane[i] = from[i];
    return v;
  }
  static void Store(float* to, Reg v) { __builtin_memcpy(to, &v, sizeof(v)); }
  static void StorePart(float* to, Reg v, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = v.lane[i];
  }
  static Reg KeepFirst(Reg v, int64_t count) {
    for (int64_t i = count; i < kCount; ++i) v.lane[i] = 0;
    return v;
  }
  static Reg Add(Reg a, Reg b) {
    return Each([](float x, float y) { return x + y; }, a, b);
  }
  static Reg Sub(Reg a, Reg b) {
    return Each([](float x, float y) { return x - y; }, a, b);
  }
  static Reg Mul(Reg a, Reg b) {
    return Each([](float x, float y) { return x * y; }, a, b);
  }
  static Reg Divide(Reg a, Reg b) {
    return Each([](float x, float y) { return x / y; }, a, b);
  }
  static Reg Root(Reg v) {
    return Each([](float x) { return __builtin_sqrtf(x); }, v);
  }
  static Reg Min(Reg a, Reg b) {
    return Each([](float x, float y) { return x < y ? x : y; }, a, b);
  }
  static Reg Max(Reg a, Reg b) {
    return Each([](float x, float y) { return x > y ? x : y; }, a, b);
  }
  static Reg Fma(Reg a, Reg b, Reg c) {
    return Each([](float x, float y, float z) { return __builtin_fmaf(x, y, z); }, a, b, c);
  }
  static Reg Reciprocal(Reg v) {
    return Each([](float x) { return 1 / x; }, v);
  }
  static constexpr bool kLooksUp = true;
  static Reg Magnitude(Reg v) {
    return Each([](float x) { return __builtin_fabsf(x); }, v);
  }
  static Reg LookUp(const float* table, Reg index) {
    Reg v;
    for (int i = 0; i < kCount; ++i) {
      uint32_t bits;
      __builtin_memcpy(&bits, &index.lane[i], sizeof(bits));
      v.lane[i] = table[bits % 32];
    }
    return v;
  }
  // Combines the two halves of the vector, then the two halves of the result, and so on, as the AVX-512 kernels do.
  template <class Combine>
  static float Across(Reg v, Combine combine) {
    for (int half = kCount / 2; half > 0; half /= 2) {
      Reg other = v;
      for (int i = 0; i < half; ++i) other.lane[i] = v.lane[i + half];
      v = combine(v, other);
    }
    return v.lane[0];
  }
  template <class Combine>
  static Four Across(const Reg (&v)[4], Combine combine) {
    return Four{Across(v[0], combine), Across(v[1], combine), Across(v[2], combine), Across(v[3], combine)};
  }
  static float Sum(Reg v) { return Across(v, Add); }
  static Reg WhereGreater(Reg a, Reg b, Reg x, Reg y) {
    return Each([](float p, float q, float r, float s) { return p > q ? r : s; }, a, b, x, y);
  }
  static Reg Round(Reg v) {
    return Each([](float x) { return __builtin_nearbyintf(x); }, v);
  }
  static Reg TimesPowerOfTwo(Reg v, Reg exponent) {
    return Each(
        [](float x, float n) {
          return n > -1024 && n < 1024 ? x * __builtin_ldexpf(1.0F, static_cast<int>(n)) : x * 1.0F;
        },
        v, exponent);
  }
  static Reg Load(const Bf16* from) { return LoadPart(from, kCount); }
  static Reg LoadPart(const Bf16* from, int64_t count) {
    Reg v = {};
    for (int64_t i = 0; i < count; ++i) v.lane[i] = cpu::ToFloat(from[i]);
    return v;
  }
  static void Store(Bf16* to, Reg v) { StorePart(to, v, kCount); }
  static void StorePart(Bf16* to, Reg v, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = cpu::ToBf16(v.lane[i]);
  }
};

struct LanesOfBytes {
  using V = Lanes;
  using Words = Vector<uint32_t>;
  using Sums = Vector<int32_t>;
  static constexpr bool kOfBytes = true;
  static constexpr bool kStoresFour = false;
  static constexpr int kNumbers = 4;

  static Sums Zero() { return Sums{}; }
  static Words Load(const std::byte* groups) {
    Words words;
    __builtin_memcpy(&words, groups, sizeof(words));
    return words;
  }
  static Words Spread(const std::byte* group) {
    uint32_t word;
    __builtin_memcpy(&word, group, sizeof(word));
    Words words;
    for (uint32_t& lane : words.lane) lane = word;
    return words;
  }
  static Sums Dot(Words bytes, Words weights, Sums sums) {
    for (int i = 0; i < kCount; ++i) {
      for (int shift = 0; shift < 32; shift += 8) {
        sums.lane[i] +=
            static_cast<int32_t>(bytes.lane[i] >> shift & 0xff) * static_cast<int8_t>(weights.lane[i] >> shift & 0xff);
      }
    }
    return sums;
  }
  static V::Reg Floats(Sums sums) {
    V::Reg v;
    for (int i = 0; i < kCount; ++i) v.lane[i] = static_cast<float>(sums.lane[i]);
    return v;
  }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    for (int64_t i = 0; i < kCount && i < count; ++i) {
      uint32_t bits;
      __builtin_memcpy(&bits, &v.lane[i], sizeof(bits));
      to[i] = static_cast<std::byte>(bits & 0xff);
    }
  }
};

}  // namespace
}  // namespace vitrine::testing

// Tiles of 14 rows, as in the AVX-512 kernels, would take minutes to compile. The number of rows does not affect
// results.
template <>
inline constexpr int vitrine::engine::kTileRows<vitrine::testing::Lanes> = 6;

namespace vitrine::testing {

const engine::Kernels kLaneKernels = engine::TableOf<Lanes>(cpu::CpuPath::kAvx512);
const engine::NarrowKernels kLaneInt8Kernels = {.of_bytes = true,
                                                .numbers_of_group = LanesOfBytes::kNumbers,
                                                .vector_columns = kCount,
                                                .panel_columns = engine::kTileVectors * kCount,
                                                .gemm = engine::RunNarrowGemm<LanesOfBytes>,
                                                .take = engine::TakeBytes<LanesOfBytes>,
                                                .depthwise = cpu::RunDepthwise<Lanes, engine::NarrowGelu>,
                                                .pack_inputs = nullptr,
                                                .pack_outputs = nullptr,
                                                .softmax_rows = nullptr,
                                                .multiply_adds_of_round = 0,
                                                .multiply_adds = nullptr};

}  // namespace vitrine::testing
