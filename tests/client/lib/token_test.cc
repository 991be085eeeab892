// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/token.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

TEST(BearerToken, RereadsItsFile) {
  const ScratchFolder folder;
  const std::string file = folder.Write("token", "one\n");
  const auto token = BearerToken::FromFile(file);
  ASSERT_TRUE(token.ok()) << token.status();
  const absl::Time start = absl::Now();
  folder.Write("token", "two");
  EXPECT_EQ((*token)->Get(start), "one") << "the file must not be read for every call";
  EXPECT_EQ((*token)->Get(start + absl::Seconds(61)), "two");
  folder.Write("token", "");
  EXPECT_EQ((*token)->Get(start + absl::Seconds(130)), "two") << "while the file is empty, the old token must be used";
  folder.Write("token", "three");
  EXPECT_EQ((*token)->Get(start + absl::Seconds(195)), "three");
}

TEST(BearerToken, IsReadAgainAfterARefusal) {
  const ScratchFolder folder;
  const auto token = BearerToken::FromFile(folder.Write("token", "one"));
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_FALSE((*token)->IsReplaced("one"));
  folder.Write("token", "two");
  EXPECT_TRUE((*token)->IsReplaced("one"));
  EXPECT_TRUE((*token)->IsReplaced("one")) << "the token must also count as replaced for other calls that sent it";
  EXPECT_EQ((*token)->Get(absl::Now()), "two");
  EXPECT_FALSE((*BearerToken::FromText("one"))->IsReplaced("one"));
}

TEST(BearerToken, IsConstantIfGivenAsText) {
  EXPECT_EQ((*BearerToken::FromText("one"))->Get(absl::InfiniteFuture()), "one");
  EXPECT_FALSE(BearerToken::FromText("").ok());
  EXPECT_FALSE(BearerToken::FromText("a\x01").ok());
  EXPECT_FALSE(BearerToken::FromText("\xC3\xBC").ok());
}

}  // namespace
}  // namespace vitrine
