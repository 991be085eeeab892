// SPDX-License-Identifier: Apache-2.0
#include "common/shard.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace vitrine {
namespace {

TEST(Shard, IsParsedOrRefused) {
  unsetenv("JOB_COMPLETION_INDEX");
  EXPECT_EQ(*ParseShard("3/8"), (Shard{3, 8}));
  EXPECT_EQ(*ParseShard("1/1"), (Shard{1, 1}));
  EXPECT_EQ(*ParseShard("8/8"), (Shard{8, 8}));
  for (const char* wrong : {"", "3", "0/8", "9/8", "3/0", "-1/8", "a/8", "3/8/9", "/8"}) {
    EXPECT_EQ(ParseShard(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  setenv("JOB_COMPLETION_INDEX", "7", 1);
  EXPECT_EQ(*ParseShard("/8"), (Shard{8, 8}));
  setenv("JOB_COMPLETION_INDEX", "8", 1);
  EXPECT_FALSE(ParseShard("/8").ok());
  unsetenv("JOB_COMPLETION_INDEX");
}

}  // namespace
}  // namespace vitrine
