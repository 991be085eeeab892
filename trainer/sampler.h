// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SAMPLER_H_
#define VITRINE_TRAINER_SAMPLER_H_

#include <cstdint>
#include <vector>

namespace vitrine {

// Random numbers of a sample. Each number is a pure function of (seed, epoch, sample, number of earlier draws). Samples
// share no state, so the numbers do not depend on threads, batches or interruptions.
class CounterRandom {
 public:
  CounterRandom(uint64_t seed, uint64_t epoch, uint64_t sample);

  uint64_t Next();
  // Returns a number in [0, 1), with 53 random bits.
  double Uniform();
  // Returns a number in [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Returns a number in [0, bound). Requires bound >= 1.
  int64_t Below(int64_t bound);

 private:
  const uint64_t key_;
  uint64_t drawn_ = 0;
};

// Returns the order of an epoch: a permutation of 0..size-1.
std::vector<int64_t> EpochOrder(uint64_t seed, uint64_t epoch, int64_t size);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SAMPLER_H_
