// SPDX-License-Identifier: Apache-2.0
#include "server/process/memory_shares.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(MemoryShares, FollowALimitAndNothingElse) {
  const Machine free = Combine({}, {0}, int64_t{64} << 30);
  EXPECT_EQ(WithinShare(free, kQueueShare, int64_t{256} << 20), int64_t{256} << 20);
  const Machine small = Combine({.memory_bytes = int64_t{1} << 30}, {0}, int64_t{64} << 30);
  EXPECT_EQ(WithinShare(small, kQueueShare, int64_t{256} << 20), (int64_t{1} << 30) / 100 * 10);
  const Machine large = Combine({.memory_bytes = int64_t{32} << 30}, {0}, int64_t{64} << 30);
  EXPECT_EQ(WithinShare(large, kQueueShare, int64_t{256} << 20), int64_t{256} << 20) << "a share never raises";
  EXPECT_LE(kModelShare + kQueueShare + kTransportShare + kAnswerShare, 80);
}

}  // namespace
}  // namespace vitrine
