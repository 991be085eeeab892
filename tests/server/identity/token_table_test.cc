// SPDX-License-Identifier: Apache-2.0
#include "server/identity/token_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/identity/made_calls.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TokenTable, FindsOnlyListedTokens) {
  const std::string second = kSecret + "2";
  const auto table = TokenTable::Parse("# who asks\n\n" + TokenLine("ci", kSecret) + "  " + TokenLine("ops", second));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(kSecret), "ci");
  EXPECT_EQ(table->NameOf(second), "ops");
  EXPECT_EQ(table->NameOf(kSecret + "3"), std::nullopt);
  EXPECT_EQ(table->NameOf(kSecret.substr(1)), std::nullopt);
  EXPECT_EQ(table->NameOf(""), std::nullopt);
  EXPECT_EQ(table->NameOf(HexOf(kSecret)), std::nullopt) << "the digest in the file is no token";
}

TEST(TokenTable, ANameMayHaveTwoTokens) {
  const auto table = TokenTable::Parse(TokenLine("ci", kSecret) + TokenLine("ci", kSecret + "new"));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->NameOf(kSecret), "ci");
  EXPECT_EQ(table->NameOf(kSecret + "new"), "ci");
}

TEST(TokenTable, IgnoresByteOrderMarkAndWindowsLineEnds) {
  const auto table = TokenTable::Parse(std::string("\xEF\xBB\xBF") + "ci sha256:" + HexOf(kSecret) + "\r\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(kSecret), "ci");
}

// Tokens that are too short are never valid, even if the file contains their digests.
TEST(TokenTable, AShortTokenIsNeverValid) {
  const auto table = TokenTable::Parse(TokenLine("ci", "hunter2") + TokenLine("ops", std::string(31, 'x')));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->NameOf("hunter2"), std::nullopt);
  EXPECT_EQ(table->NameOf(std::string(31, 'x')), std::nullopt);
}

TEST(TokenTable, TheErrorNamesTheLineWithoutItsContent) {
  for (const std::string& line :
       {"ci " + kSecret, "ci sha256:" + kSecret, kSecret, "ci sha256:" + HexOf(kSecret) + " more",
        "c/i sha256:" + HexOf(kSecret), "ci sha256:" + HexOf(kSecret).substr(1), "ci sha256:" + HexOf(kSecret) + "0",
        "ci md5:" + HexOf(kSecret)}) {
    const auto table = TokenTable::Parse(TokenLine("ok", kSecret + "ok") + line + "\n");
    EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(table.status().message()),
                AllOf(HasSubstr("line 2"), Not(HasSubstr(kSecret)), Not(HasSubstr(HexOf(kSecret)))));
  }
  EXPECT_FALSE(TokenTable::Parse(TokenLine("a", kSecret) + TokenLine("b", kSecret)).ok()) << "one token, two names";
}

TEST(TokenTable, AcceptsTheShortestTokenAndTheLongestName) {
  const std::string shortest(TokenTable::kShortestToken, 'x'), longest(64, 'n');
  const auto table = TokenTable::Parse(TokenLine(longest, shortest));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(shortest), longest);
  EXPECT_FALSE(TokenTable::Parse(TokenLine(longest + "n", shortest)).ok());
}

TEST(TokenTable, DigestsAreComparedInEveryByte) {
  const std::string digest = HexOf(kSecret);
  for (const size_t place : {size_t{0}, size_t{31}, digest.size() - 1}) {
    std::string other = digest;
    other[place] = other[place] == '0' ? '1' : '0';
    const auto table = TokenTable::Parse("other sha256:" + other + "\n" + TokenLine("ci", kSecret));
    ASSERT_TRUE(table.ok()) << "two digests: " << table.status();
    EXPECT_EQ(table->NameOf(kSecret), "ci");
    EXPECT_EQ(TokenTable::Parse("other sha256:" + other)->NameOf(kSecret), std::nullopt) << place;
  }
}

TEST(TokenTable, AFileWithoutTokensMatchesNoToken) {
  const auto table = TokenTable::Parse("# nobody\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(kSecret), std::nullopt);
}

}  // namespace
}  // namespace vitrine::testing
