// SPDX-License-Identifier: Apache-2.0
#include "server/identity/token_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSecret = "vitrine_0123456789abcdefghijklmnopqrstuvwxyz";

std::string HexOf(const std::string& secret) {
  unsigned char digest[32];
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest);
  return absl::BytesToHexString(std::string(reinterpret_cast<char*>(digest), sizeof(digest)));
}

std::string Row(const std::string& name, const std::string& secret) {
  return absl::StrCat(name, " sha256:", HexOf(secret), "\n");
}

TEST(TokenTable, KnowsTheTokensOfItsLinesAndNoOthers) {
  const std::string second = kSecret + "2";
  const auto table = TokenTable::Parse("# who asks\n\n" + Row("ci", kSecret) + "  " + Row("ops", second));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(kSecret), "ci");
  EXPECT_EQ(table->NameOf(second), "ops");
  EXPECT_EQ(table->NameOf(kSecret + "3"), std::nullopt);
  EXPECT_EQ(table->NameOf(kSecret.substr(1)), std::nullopt);
  EXPECT_EQ(table->NameOf(""), std::nullopt);
  EXPECT_EQ(table->NameOf(HexOf(kSecret)), std::nullopt) << "the digest in the file is no token";
}

TEST(TokenTable, ANameMayHaveTwoTokens) {
  const auto table = TokenTable::Parse(Row("ci", kSecret) + Row("ci", kSecret + "new"));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->NameOf(kSecret), "ci");
  EXPECT_EQ(table->NameOf(kSecret + "new"), "ci");
}

// Whoever hashes a password into the file has not made a token of it.
TEST(TokenTable, AShortTokenIsNeverRight) {
  const auto table = TokenTable::Parse(Row("ci", "hunter2") + Row("ops", std::string(31, 'x')));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->NameOf("hunter2"), std::nullopt);
  EXPECT_EQ(table->NameOf(std::string(31, 'x')), std::nullopt);
}

TEST(TokenTable, ARefusalNamesTheLineAndNotWhatIsOnIt) {
  for (const std::string& line :
       {"ci " + kSecret, "ci sha256:" + kSecret, kSecret, "ci sha256:" + HexOf(kSecret) + " more",
        "c/i sha256:" + HexOf(kSecret), "ci sha256:" + HexOf(kSecret).substr(1), "ci sha256:" + HexOf(kSecret) + "0",
        "ci md5:" + HexOf(kSecret)}) {
    const auto table = TokenTable::Parse(Row("ok", kSecret + "ok") + line + "\n");
    EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(table.status().message()),
                AllOf(HasSubstr("line 2"), Not(HasSubstr(kSecret)), Not(HasSubstr(HexOf(kSecret)))));
  }
  EXPECT_FALSE(TokenTable::Parse(Row("a", kSecret) + Row("b", kSecret)).ok()) << "one token, two names";
}

TEST(TokenTable, TheShortestTokenAndTheLongestNameAreTaken) {
  const std::string shortest(TokenTable::kShortestToken, 'x'), longest(64, 'n');
  const auto table = TokenTable::Parse(Row(longest, shortest));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(shortest), longest);
  EXPECT_FALSE(TokenTable::Parse(Row(longest + "n", shortest)).ok());
}

TEST(TokenTable, WithoutLinesNobodyIsKnown) {
  const auto table = TokenTable::Parse("# nobody\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->NameOf(kSecret), std::nullopt);
}

}  // namespace
}  // namespace vitrine::testing
