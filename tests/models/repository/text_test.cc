// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/text.h"

#include <gtest/gtest.h>

#include "models/repository/names.h"

namespace vitrine {
namespace {

TEST(Utf8, AcceptsEveryLengthAndRefusesMalformedBytes) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
  EXPECT_TRUE(
      IsValidUtf8("\xe1\x80\x80\xec\x80\x80\xed\x80\x80\xee\x80\x80\xf0\xbf\xbf\xbf\xf1\x80\x80\x80\xf3\xbf\xbf\xbf\xf4"
                  "\x80\x80\x80"));
  for (const char* bad : {"\xe0\xa0", "\xe2\x82\x41", "\xf0\x90\x80", "\xf0\x90", "\xf0", "\xf0\x41\x80\x80",
                          "\xf0\x90\x41\x80", "\xf0\x90\x80\x41", "\xc3\x41", "\xc3\xc3", "\xbf", "\xed\xbf\xbf"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << Quoted(bad);
    EXPECT_FALSE(IsValidUtf8(std::string("a") + bad)) << Quoted(bad);
  }
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xe2\x28\xa1"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << Quoted(bad);
  }
}

TEST(QuotedText, IsSafeForATerminal) {
  EXPECT_EQ(Quoted("Zürich"), "\"Zürich\"");
  EXPECT_EQ(Quoted("a\x1b[31m\"\n"), "\"a\\x1b[31m\\\"\\n\"");
  EXPECT_EQ(Quoted("\xff"), "\"\\xff\"");
  EXPECT_EQ(Quoted(std::string("a\0x", 3)), "\"a\\x00x\"") << "a NUL must show";
  EXPECT_EQ(Quoted(std::string(101, 'x')), "\"" + std::string(100, 'x') + "...\"");
  EXPECT_EQ(Quoted(std::string(99, 'x') + "üü"), "\"" + std::string(99, 'x') + "...\"") << "no character is cut in two";
  EXPECT_EQ(Quoted(std::string(100, 'x')), "\"" + std::string(100, 'x') + "\"") << "all of it is shown";
  EXPECT_EQ(Quoted(std::string(98, 'x') + "üx"), "\"" + std::string(98, 'x') + "ü...\"");
  EXPECT_EQ(Quoted(std::string(101, '\x80')), "\"...\"") << "a character of which the beginning is missing";
}

TEST(EscapedText, ChangesOnlyControlCharactersAndMalformedBytes) {
  EXPECT_EQ(EscapedText("l'\"écureuil\" \\ 日本"), "l'\"écureuil\" \\ 日本");
  EXPECT_EQ(EscapedText("a\x1b[2J\n\x7f\xc2\x9b"
                        "b\xff\xc3"),
            "a\\x1b[2J\\x0a\\x7f\\xc2\\x9b"
            "b\\xff\\xc3");
  EXPECT_EQ(EscapedText(std::string("\0x", 2)), "\\x00x");
  EXPECT_EQ(EscapedText("\u202egpj.exe \u2067\u2019"), "\\xe2\\x80\\xaegpj.exe \\xe2\\x81\\xa7\u2019");
}

TEST(Names, AcceptsPlainNamesOfModelsAndFiles) {
  for (const char* name : {"a", "eit-mini_3.4", "..a", "-x", "A9"}) EXPECT_TRUE(IsPlainName(name)) << name;
  EXPECT_TRUE(IsPlainName(std::string(64, 'a')));
  EXPECT_FALSE(IsPlainName(std::string(65, 'a')));
  for (const char* name : {"", ".", "..", "a/b", "a b", "ü", "a\n", "a\\b", "~", "a:b"}) {
    EXPECT_FALSE(IsPlainName(name)) << name;
  }
  EXPECT_FALSE(IsPlainName(std::string("a\0b", 3)));
}

TEST(Names, RecognizesNamesOfThisMachine) {
  for (const char* host : {"localhost", "localhost:5000", "127.0.0.1", "127.1.2.3:80", "[::1]:80", "[::1]"}) {
    EXPECT_TRUE(IsThisMachine(host)) << host;
  }
  for (const char* host : {"", "models.example", "127.0.0.1.example", "localhost.example", "localhost:x@a.example",
                           "localhost@a.example", "[::2]", "10.0.0.1:127"}) {
    EXPECT_FALSE(IsThisMachine(host)) << host;
  }
}

TEST(Names, ParsesNamesOfVersions) {
  EXPECT_EQ(ParseVersion("1"), 1);
  EXPECT_EQ(ParseVersion("9223372036854775807"), 9223372036854775807);
  for (const char* name : {"", "0", "01", "-1", "+1", "1 ", " 1", "1.0", "1e3", "9223372036854775808", "x", "１"}) {
    EXPECT_EQ(ParseVersion(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace vitrine
