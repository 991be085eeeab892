// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/repeats.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace vitrine {
namespace {

TEST(MembersOf, FollowsTheEpochOrderWithoutRepeats) {
  const std::vector<int64_t> order = EpochOrder(3, 4, 50);
  for (const int repeats : {-1, 0, 1}) {
    const std::vector<Member> members = MembersOf(3, 4, 50, repeats);
    ASSERT_EQ(members.size(), 50u);
    for (size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(members[i].sample, order[i]);
      EXPECT_EQ(members[i].repeat, 0);
    }
  }
}

TEST(MembersOf, RepeatsSamplesInARow) {
  for (const int64_t size : {1, 2, 48, 49, 50}) {
    const std::vector<Member> members = MembersOf(3, 4, size, 3);
    ASSERT_EQ(static_cast<int64_t>(members.size()), size) << "an epoch stays as long";
    std::map<int64_t, int> copies;
    for (size_t i = 0; i < members.size(); ++i) {
      EXPECT_GE(members[i].sample, 0);
      EXPECT_LT(members[i].sample, size);
      EXPECT_EQ(members[i].repeat, static_cast<int>(i % 3));
      EXPECT_TRUE(members[i].repeat == 0 || members[i].sample == members[i - 1].sample);
      ++copies[members[i].sample];
    }
    EXPECT_EQ(static_cast<int64_t>(copies.size()), (size + 2) / 3) << "different samples";
  }
}

TEST(MembersOf, EveryEpochDrawsOtherSamples) {
  std::set<int64_t> seen;
  for (int epoch = 0; epoch < 20; ++epoch) {
    const std::vector<Member> members = MembersOf(3, epoch, 60, 3), again = MembersOf(3, epoch, 60, 3);
    for (size_t i = 0; i < members.size(); ++i) {
      EXPECT_EQ(members[i].sample, again[i].sample);
      seen.insert(members[i].sample);
    }
  }
  EXPECT_EQ(seen.size(), 60u) << "20 epochs of a third each leave none out";
}

TEST(RandomOf, DiffersForEachSampleAndRepeat) {
  EXPECT_EQ(RandomOf(1, 2, {.sample = 7, .repeat = 0}).Next(), CounterRandom(1, 2, 7).Next())
      << "as before there were repeats";
  std::set<uint64_t> firsts;
  for (int sample = 0; sample < 50; ++sample) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      firsts.insert(RandomOf(1, 2, {.sample = sample, .repeat = repeat}).Next());
    }
    firsts.insert(RandomOfBatch(1, 2, sample).Next());
  }
  EXPECT_EQ(firsts.size(), 250u);
}

}  // namespace
}  // namespace vitrine
