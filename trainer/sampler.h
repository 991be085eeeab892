// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SAMPLER_H_
#define VITRINE_TRAINER_SAMPLER_H_

#include <cstdint>
#include <vector>

namespace vitrine {

// Random numbers as a pure function of (seed, epoch, sample, how many were drawn before). No state is shared between
// samples, so the numbers do not depend on threads, on batches, or on where a run was interrupted.
class CounterRandom {
 public:
  CounterRandom(uint64_t seed, uint64_t epoch, uint64_t sample);

  uint64_t Next();
  // In [0, 1), 53 bits.
  double Uniform();
  // In [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // In [0, bound). Requires bound >= 1.
  int64_t Below(int64_t bound);

 private:
  const uint64_t key_;
  uint64_t drawn_ = 0;
};

// The order of one epoch: a permutation of 0..size-1.
std::vector<int64_t> EpochOrder(uint64_t seed, uint64_t epoch, int64_t size);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SAMPLER_H_
