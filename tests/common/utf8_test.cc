// SPDX-License-Identifier: Apache-2.0
#include "common/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace vitrine {
namespace {

TEST(Utf8, AcceptsEveryCharacterAndNothingElse) {
  for (const char* text : {"", "cat", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA9z"}) {
    EXPECT_TRUE(IsUtf8(text)) << testing::PrintToString(text);
  }
  EXPECT_TRUE(IsUtf8(std::string(1, '\0')));
  // These texts have a continuation byte without a start, an overlong form, a surrogate, a value above the last code
  // point, a truncated character, or a wrong continuation byte.
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3z", "\xE2\x82z", "a\xC3\xA9\xA9"}) {
    EXPECT_FALSE(IsUtf8(text)) << testing::PrintToString(text);
  }
}

TEST(Utf8, TakesCharactersAndSingleInvalidBytes) {
  std::string_view text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xE2\x82z";
  const std::optional<char32_t> characters[] = {U'a', U'\u00E9', U'\u20AC', U'\U0001F600', {}, {}, U'z'};
  for (const std::optional<char32_t>& character : characters) EXPECT_EQ(TakeCharacter(text), character);
  EXPECT_TRUE(text.empty());
}

TEST(Utf8, APrefixEndsBetweenCharacters) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";  // characters of 1, 2, 3 and 4 bytes
  const size_t fronts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (size_t most = 0; most < std::size(fronts); ++most) {
    EXPECT_EQ(FrontOf(text, most), text.substr(0, fronts[most])) << most;
  }
}

TEST(Utf8, ALongNameIsShownTruncated) {
  EXPECT_EQ(Shown(std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_EQ(Shown(std::string(63, 'x') + "\xC3\xA9z"), std::string(63, 'x') + "...");
}

}  // namespace
}  // namespace vitrine
