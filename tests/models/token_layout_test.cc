// SPDX-License-Identifier: Apache-2.0
#include "models/token_layout.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(TokenLayout, OffsetsAndRunsFollowTheImages) {
  const auto layout = TokenLayout::Make({{2, 3}, {2, 3}, {3, 2}, {2, 3}}, 1);
  EXPECT_EQ(layout->images(), 4);
  EXPECT_EQ(layout->total_tokens(), 28);
  EXPECT_EQ(layout->offset(2), 14);
  EXPECT_EQ(layout->tokens(3), 7);
  ASSERT_EQ(layout->runs().size(), 3U) << "equal cell counts of different shape are different grids";
  const TokenLayout::Run& first = layout->runs()[0];
  EXPECT_EQ(first.images, 2);
  EXPECT_EQ(first.tokens_per_image, 7);
  EXPECT_EQ(layout->runs()[2].first_image, 3);
  EXPECT_EQ(layout->runs()[2].first_token, 21);
}

TEST(TokenLayout, WorksWithoutPrefix) {
  const auto layout = TokenLayout::Make({{1, 1}, {4, 4}}, 0);
  EXPECT_EQ(layout->total_tokens(), 17);
  EXPECT_EQ(layout->tokens(0), 1);
}

}  // namespace
}  // namespace vitrine
