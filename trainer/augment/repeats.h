// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_REPEATS_H_
#define VITRINE_TRAINER_AUGMENT_REPEATS_H_

#include <cstdint>
#include <vector>

#include "trainer/sampler.h"
#include "trainer/task.h"

namespace vitrine {

// Returns the `size` members of an epoch over `size` samples, in order. With repeats <= 1, the order is EpochOrder's.
// With repeated augmentation (Hoffer et al. 2020), the members are ceil(size / repeats) different samples, each
// `repeats` times in a row, so that a batch usually has all copies. The last sample has fewer copies if `repeats` does
// not divide `size`. Every epoch draws new samples.
std::vector<Member> MembersOf(uint64_t seed, uint64_t epoch, int64_t size, int repeats);

// Returns the random numbers that augment a member of an epoch. Each repeat has its own numbers; repeat 0 has the
// numbers of a run without repeats. Requires fewer than 2^40 samples.
CounterRandom RandomOf(uint64_t seed, uint64_t epoch, const Member& member);

// Returns the random numbers of a batch of an epoch. They are distinct from the random numbers of all samples.
CounterRandom RandomOfBatch(uint64_t seed, uint64_t epoch, int64_t index);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_REPEATS_H_
