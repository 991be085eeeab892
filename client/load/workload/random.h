// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_RANDOM_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_RANDOM_H_

#include <cstdint>

namespace vitrine {

// Purpose of a random number. Numbers of different purposes are independent.
enum class RandomPurpose : uint64_t { kGap = 1, kClass = 2, kImage = 3, kLook = 4 };

// Returns random number `number` of a purpose. The function is pure, so a load does not depend on the number of
// threads. `mix` is the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014).
inline uint64_t RandomBits(uint64_t seed, RandomPurpose purpose, uint64_t number) {
  const auto mix = [](uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  };
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  const uint64_t key = mix(seed * kGolden + static_cast<uint64_t>(purpose));
  return mix(key + (number + 1) * kGolden);
}

// Returns a number in [0, 1) with 53 random bits.
inline double RandomShare(uint64_t seed, RandomPurpose purpose, uint64_t number) {
  return static_cast<double>(RandomBits(seed, purpose, number) >> 11) * 0x1p-53;
}

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_RANDOM_H_
