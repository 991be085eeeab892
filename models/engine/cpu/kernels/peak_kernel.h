// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_PEAK_KERNEL_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_PEAK_KERNEL_H_

#include <cstdint>

// Loops that measure the peak rates of a core (see peaks.h). The templates are for files that are compiled for one
// instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

// Number of independent chains of multiply-adds: more than the two multiply-add units of a CPU can compute at once.
inline constexpr int kChains = 12;

template <class V>
float FirstLane(typename V::Reg v) {
  float lanes[V::kLanes];
  V::Store(lanes, v);
  return lanes[0];
}

// In each round, runs one multiply-add in each lane of each chain. Returns a value that the compiler cannot precompute.
template <class V>
float RunMultiplyAdds(int64_t rounds) {
  typename V::Reg sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = V::Broadcast(static_cast<float>(i + rounds));
  const auto factor = V::Broadcast(0.5f), term = V::Broadcast(1.0f);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = V::Fma(sums[i], factor, term);
  }
  auto sum = sums[0];
  for (int i = 1; i < kChains; ++i) sum = V::Add(sum, sums[i]);
  return FirstLane<V>(sum);
}

// Returns the sum of `count` floats; `count` must be a multiple of 64.
template <class V>
float RunRead(const float* from, int64_t count) {
  typename V::Reg sums[4] = {V::Broadcast(0), V::Broadcast(0), V::Broadcast(0), V::Broadcast(0)};
  for (int64_t j = 0; j < count; j += 4 * V::kLanes) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sums[i] = V::Add(sums[i], V::Load(from + j + i * V::kLanes));
  }
  return FirstLane<V>(V::Add(V::Add(sums[0], sums[1]), V::Add(sums[2], sums[3])));
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_PEAK_KERNEL_H_
