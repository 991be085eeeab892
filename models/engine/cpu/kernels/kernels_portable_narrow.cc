// SPDX-License-Identifier: Apache-2.0
// bf16 and int8 products for any CPU, without special instructions.
#include "common/simd/portable.h"
#include "models/engine/cpu/kernels/narrow_table.h"

namespace vitrine::engine {
namespace {

struct PortableGroups {
  using V = cpu::Portable;
  typedef uint32_t Words __attribute__((vector_size(16)));

  static Words Load(const std::byte* groups) {
    Words words;
    __builtin_memcpy(&words, groups, sizeof(words));
    return words;
  }
  static Words Spread(const std::byte* group) {
    uint32_t word;
    __builtin_memcpy(&word, group, sizeof(word));
    return Words{word, word, word, word};
  }
};

struct PortableBf16 : PortableGroups {
  using Sums = V::Reg;
  static constexpr bool kOfBytes = false;
  static constexpr int kNumbers = 2;

  static Sums Zero() { return V::Broadcast(0); }
  static Sums Dot(Words a, Words w, Sums sums) {
    const Words low_a = a << 16, low_w = w << 16, high_a = a & 0xffff0000, high_w = w & 0xffff0000;
    return sums + ((Sums)high_a * (Sums)high_w + (Sums)low_a * (Sums)low_w);
  }
  static V::Reg Floats(Sums sums) { return sums; }
  static void Turn(const std::byte* rows, int64_t count, std::byte* to, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t r = 0; r < V::kLanes; ++r) {
        __builtin_memcpy(to + i * stride + r * kGroupBytes, rows + (r * V::kLanes + i) * kGroupBytes, kGroupBytes);
      }
    }
  }
  static void Store(std::byte* to, Words groups) { __builtin_memcpy(to, &groups, sizeof(groups)); }
  static Words Pair(V::Reg even, V::Reg odd) {
    Words groups = {};
    for (int i = 0; i < V::kLanes; ++i) {
      const auto low = static_cast<uint32_t>(cpu::ToBf16(even[i])), high = static_cast<uint32_t>(cpu::ToBf16(odd[i]));
      groups[i] = low | high << 16;
    }
    return groups;
  }
};

struct PortableInt8 : PortableGroups {
  typedef int32_t Sums __attribute__((vector_size(16)));
  static constexpr bool kOfBytes = true;
  static constexpr bool kStoresFour = false;
  static constexpr int kNumbers = 4;

  static Sums Zero() { return Sums{}; }
  static Sums Dot(Words bytes, Words weights, Sums sums) {
    for (int i = 0; i < 32; i += 8) {
      sums += (Sums)((bytes >> i) & 0xff) * ((Sums)(weights << (24 - i)) >> 24);
    }
    return sums;
  }
  static V::Reg Floats(Sums sums) { return __builtin_convertvector(sums, V::Reg); }
  static void StoreBytes(std::byte* to, V::Reg v, int64_t count) {
    const Words words = (Words)v;
    for (int64_t i = 0; i < V::kLanes && i < count; ++i) to[i] = static_cast<std::byte>(words[i] & 0xff);
  }
};

}  // namespace

const NarrowKernels kPortableBf16Kernels = NarrowTableOf<PortableBf16>();
const NarrowKernels kPortableInt8Kernels = NarrowTableOf<PortableInt8>();

}  // namespace vitrine::engine
