// SPDX-License-Identifier: Apache-2.0
#include "trainer/sampler.h"

#include <numeric>
#include <utility>

namespace vitrine {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
// Reserved sample index for the random stream that shuffles an epoch. No real sample has this index.
constexpr uint64_t kOrderStream = ~uint64_t{0};

// The finalizer of SplitMix64 (Steele et al. 2014): a bijection in which every output bit depends on every input bit.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

CounterRandom::CounterRandom(uint64_t seed, uint64_t epoch, uint64_t sample)
    : key_(Mix(Mix(Mix(seed + kGolden) + epoch + kGolden) + sample + kGolden)) {}

uint64_t CounterRandom::Next() {
  return Mix(key_ + ++drawn_ * kGolden);
}

double CounterRandom::Uniform() {
  return static_cast<double>(Next() >> 11) * 0x1p-53;
}

int64_t CounterRandom::Below(int64_t bound) {
  // Scales a random number with a 128-bit product instead of a modulo. The bias is below bound / 2^64.
  return static_cast<int64_t>((static_cast<unsigned __int128>(Next()) * static_cast<uint64_t>(bound)) >> 64);
}

std::vector<int64_t> EpochOrder(uint64_t seed, uint64_t epoch, int64_t size) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  CounterRandom random(seed, epoch, kOrderStream);
  for (int64_t i = size - 1; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
  return order;
}

}  // namespace vitrine
