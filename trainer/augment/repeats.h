// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_REPEATS_H_
#define VITRINE_TRAINER_AUGMENT_REPEATS_H_

#include <cstdint>
#include <vector>

#include "trainer/sampler.h"
#include "trainer/task.h"

namespace vitrine {

// The members of an epoch over `size` samples in their order, `size` of them. With repeated augmentation (Hoffer et al.
// 2020) ceil(size / repeats) different samples, each `repeats` times in a row, so that a batch holds its copies; the
// last sample has fewer where `repeats` does not divide `size`. With repeats <= 1 the order of EpochOrder. Every epoch
// draws its samples anew.
std::vector<Member> MembersOf(uint64_t seed, uint64_t epoch, int64_t size, int repeats);

// The numbers that a member of an epoch is augmented with: its sample's own for repeat 0, others for each other repeat.
// Requires fewer than 2^40 samples.
CounterRandom RandomOf(uint64_t seed, uint64_t epoch, const Member& member);

// The numbers of a whole batch of an epoch, from those of no sample.
CounterRandom RandomOfBatch(uint64_t seed, uint64_t epoch, int64_t index);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_REPEATS_H_
