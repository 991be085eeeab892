// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/text.h"

#include <gtest/gtest.h>

#include <random>

namespace vitrine {
namespace {

TEST(Printable, KeepsTextAndReplacesControlCharacters) {
  EXPECT_EQ(Printable("Zürich 猫 🐈.jpg"), "Zürich 猫 🐈.jpg");
  EXPECT_EQ(Printable("a\x1b[31mb\n\tc\x7f"), "a?[31mb??c?");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "31m"),
            "a?31m")
      << "an escape sequence in C1 form must be replaced";
  EXPECT_EQ(Printable("\xe2\x80\xaegpj.tac"), "?gpj.tac") << "the right-to-left override must be replaced";
  EXPECT_EQ(Printable("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Printable("\xc3"), "\xef\xbf\xbd") << "an incomplete character must be replaced";
  EXPECT_EQ(Printable("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "an overlong form must be replaced";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "a surrogate must be replaced";
}

TEST(Cut, KeepsTheTextThatFits) {
  EXPECT_EQ(CutEnd("automobile", 10), "automobile");
  EXPECT_EQ(CutEnd("automobile", 6), "autom…");
  EXPECT_EQ(CutStart("samples/cat.jpg", 8), "…cat.jpg");
  EXPECT_EQ(CutStart("samples/cat.jpg", 15), "samples/cat.jpg");
  EXPECT_EQ(CutEnd("猫猫猫", 4), "猫…") << "half a wide character does not fit";
  EXPECT_EQ(CutStart("猫猫猫", 4), "…猫");
  EXPECT_EQ(CutEnd("abc", 1), "…");
  EXPECT_EQ(CutStart("abc", 1), "…");
}

TEST(Cut, NeverExceedsTheWidthForAnyBytes) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (int length = static_cast<int>(random() % 20); length > 0; --length) bytes += static_cast<char>(random());
    const std::string text = Printable(bytes);
    EXPECT_EQ(Printable(text), text);
    for (int width = 1; width < 12; ++width) {
      EXPECT_LE(DisplayWidth(CutEnd(text, width)), width);
      EXPECT_LE(DisplayWidth(CutStart(text, width)), width);
    }
  }
}

}  // namespace
}  // namespace vitrine
