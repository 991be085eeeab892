// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/lettering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/drawing/figure.h"
#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Anchor = Lettering::Anchor;

Image Written(const std::string& text, const Lettering& lettering = {}, Point at = {30, 60}) {
  Image image = EmptyImage(120, 120);
  Write(Canvas(image), text, at, lettering);
  return image;
}

TEST(Write, LettersOfOtherLanguagesHaveTheirShapes) {
  const Image question = Written("?"), box = Written("\u732B"), invalid = Written("\xE7\x8C");
  for (const char* text : {"\u00E4", "\u00DF", "\u03B1", "\u0416", "a", "\u00E5"}) {
    const Image letter = Written(text);
    EXPECT_GT(DarkPixels(letter, 0, 0, 120, 120), 5) << text;
    EXPECT_NE(letter.pixels, question.pixels) << text;
    EXPECT_NE(letter.pixels, box.pixels) << text;
  }
  EXPECT_GT(DarkPixels(box, 0, 0, 120, 120), 5) << "a character that the font lacks must be visible";
  EXPECT_EQ(Written("\xF0\x9F\xA6").pixels, Written("\uFFFD\uFFFD\uFFFD").pixels);
  EXPECT_EQ(invalid.pixels, Written("\uFFFD\uFFFD").pixels);
}

TEST(Write, CapitalsAreCentredAndAsHighAsRequested) {
  for (const int height : {8, 9, 12, 13, 40}) {
    const Image image = Written("H", {.height = height, .colour = {0, 0, 0}});
    const int top = 60 - height / 2, bottom = top + height;
    EXPECT_EQ(DarkPixels(image, 0, 0, 120, top, 765), 0) << height;
    EXPECT_EQ(DarkPixels(image, 0, bottom, 120, 120, 765), 0) << height;
    EXPECT_GT(DarkPixels(image, 0, top, 120, top + 1), 0) << height;
    EXPECT_GT(DarkPixels(image, 0, bottom - 1, 120, bottom), 0) << height;
  }
}

TEST(Write, TheAnchorIsTheEndOrTheMiddleOfTheText) {
  const std::string text = "HiH";
  const int width = TextWidth(text, 12);
  const Image left = Written(text, {}, {40, 60});
  EXPECT_EQ(Written(text, {.anchor = Anchor::kRight}, {40 + width, 60}).pixels, left.pixels);
  EXPECT_EQ(Written(text, {.anchor = Anchor::kCentre}, {40 + width / 2, 60}).pixels, left.pixels);
  EXPECT_EQ(DarkPixels(left, 0, 0, 40, 120, 765) + DarkPixels(left, 40 + width, 0, 120, 120, 765), 0);
}

TEST(Write, TextThatReadsUpwardsIsTurned) {
  const Image flat = Written("Fg", {}, {50, 60}), upwards = Written("Fg", {.upwards = true}, {60, 70});
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 120; ++x) EXPECT_EQ(At(upwards, y, 119 - x), At(flat, x, y)) << x << ", " << y;
  }
}

TEST(Write, TextOutsideTheCanvasIsCutOff) {
  EXPECT_EQ(Written("cut", {}, {-200, 60}).pixels, EmptyImage(120, 120).pixels);
  for (const Point at : {Point{-8, 60}, Point{110, 60}, Point{30, -2}, Point{30, 121}}) {
    EXPECT_GT(DarkPixels(Written("HHH", {}, at), 0, 0, 120, 120), 5) << at.x << ", " << at.y;
  }
  EXPECT_EQ(TextWidth(std::string(1'000'000, 'x'), 9), TextWidth(std::string(1000, 'x'), 9));
}

TEST(FrontWithin, EndsBetweenCharacters) {
  const std::string text = "\u00E4\u00E4\u00E4\u00E4";
  EXPECT_EQ(FrontWithin(text, 9, 1000), text);
  EXPECT_EQ(FrontWithin(text, 9, TextWidth(text, 9) - 1), text.substr(0, 6));
  EXPECT_EQ(FrontWithin(text, 9, 0), "");
}

TEST(WrapText, BreaksLinesThatAreTooLong) {
  EXPECT_THAT(WrapText("", 9, 100), IsEmpty());
  EXPECT_THAT(WrapText("one two\nthree", 9, 1000), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapText("one two  three", 9, TextWidth("one two", 9)), ElementsAre("one two", " three"));
  EXPECT_THAT(WrapText("\u00E4\u00E4", 9, 1), ElementsAre("\u00E4", "\u00E4")) << "a line has at least one character";
  EXPECT_THAT(WrapText(std::string(1'000'000, 'x'), 9, 100), SizeIs(64));
  const std::string word(60, 'x');
  std::string joined;
  for (const std::string& line : WrapText("a " + word + " b", 9, 100)) {
    EXPECT_LE(TextWidth(line, 9), 100) << line;
    joined += line;
  }
  EXPECT_THAT(joined, ::testing::HasSubstr(word));
}

}  // namespace
}  // namespace vitrine
