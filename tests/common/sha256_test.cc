// SPDX-License-Identifier: Apache-2.0
#include "common/sha256.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("abc")[0], 0xba);
  EXPECT_EQ(Sha256("abc")[31], 0xad);
}

TEST(Sha256Stream, PiecesGiveTheDigestOfTheWhole) {
  const std::string whole(100'000, 'a');
  Sha256Stream stream;
  for (size_t at = 0; at < whole.size(); at += 777) stream.Update(std::string_view(whole).substr(at, 777));
  EXPECT_EQ(stream.Hex(), Sha256Hex(whole));
  EXPECT_EQ(Sha256Stream().Hex(), Sha256Hex(""));
}

}  // namespace
}  // namespace vitrine
