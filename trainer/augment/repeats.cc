// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/repeats.h"

#include <algorithm>

namespace vitrine {

std::vector<Member> MembersOf(uint64_t seed, uint64_t epoch, int64_t size, int repeats) {
  const std::vector<int64_t> order = EpochOrder(seed, epoch, size);
  const int64_t copies = std::max(1, repeats);
  std::vector<Member> members(size);
  for (int64_t i = 0; i < size; ++i) {
    members[i] = {.sample = order[i / copies], .repeat = static_cast<int>(i % copies)};
  }
  return members;
}

CounterRandom RandomOf(uint64_t seed, uint64_t epoch, const Member& member) {
  return CounterRandom(seed, epoch,
                       static_cast<uint64_t>(member.sample) + (static_cast<uint64_t>(member.repeat) << 40));
}

CounterRandom RandomOfBatch(uint64_t seed, uint64_t epoch, int64_t index) {
  // Batch keys count down from 2^63 - 1. The keys of samples and repeats stay below them.
  return CounterRandom(seed, epoch, (uint64_t{1} << 63) - 1 - static_cast<uint64_t>(index));
}

}  // namespace vitrine
