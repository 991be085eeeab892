// SPDX-License-Identifier: Apache-2.0
#include "common/data/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadLines, AcceptsTheLineEndsOfAllEditors) {
  const ScratchFolder folder;
  for (const std::string text : {"\xEF\xBB\xBFtench\ngoldfish\n", "tench\r\ngoldfish\r\n", "tench\rgoldfish\r",
                                 "tench \t\ngoldfish  \n\n \n", "tench\ngoldfish"}) {
    EXPECT_THAT(*ReadLines(folder.Write("list.txt", text)), ElementsAre("tench", "goldfish")) << text;
  }
  EXPECT_THAT(*ReadLines(folder.Write("list.txt", "a\n\n  b\n")), ElementsAre("a", "", "  b"));
  EXPECT_TRUE(ReadLines(folder.Write("list.txt", ""))->empty());
}

TEST(ReadLines, AnErrorNamesTheEncoding) {
  const ScratchFolder folder;
  for (const std::string& text : {std::string("\xFF\xFE"
                                              "a\0",
                                              4),
                                  std::string("\xFE\xFF\0a", 4), std::string("a\0b\0", 4)}) {
    EXPECT_EQ(ReadLines(folder.Write("list.txt", text)).status(),
              absl::InvalidArgumentError(folder.Path("list.txt") + ": the text is UTF-16 or UTF-32; save it as UTF-8"));
  }
}

TEST(ReadLines, AnErrorNamesTheFormatOfABinaryFile) {
  const ScratchFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    return std::string(ReadLines(folder.Write("list.txt", bytes)).status().message());
  };
  EXPECT_EQ(refusal(std::string("\x1F\x8B\x08\0\0", 5)),
            folder.Path("list.txt") + ": this is a gzip file; unpack it with gunzip");
  EXPECT_THAT(refusal("PK\x03\x04..."), HasSubstr("spreadsheet"));
  EXPECT_THAT(refusal(std::string("tench\ngold\0fish\n", 16)), HasSubstr("line 2 has a NUL byte"));
}

TEST(ReadLines, InvisibleSpacesAtTheEndAreRemoved) {
  const ScratchFolder folder;
  EXPECT_THAT(*ReadLines(folder.Write("list.txt", "tench\xC2\xA0\ngoldfish \xE2\x80\x8B\n\xC2\xA0\n")),
              ElementsAre("tench", "goldfish"));
}

}  // namespace
}  // namespace vitrine
