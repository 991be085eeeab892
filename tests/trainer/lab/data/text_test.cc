// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "trainer/lab/data/number_words.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TextTest, EncodesTokensInAVocabularySortedByBytes) {
  const EncodedText text = EncodeTokens({"b", "a", "c", "a"});
  EXPECT_THAT(text.vocabulary, ElementsAre("a", "b", "c"));
  EXPECT_THAT(text.ids, ElementsAre(1, 0, 2, 0));
}

TEST(TextTest, TakesTextApartByCodePoints) {
  EXPECT_THAT(*CharactersOf("a\né€😀"), ElementsAre("a", "\n", "é", "€", "😀"));
  EXPECT_TRUE(CharactersOf("")->empty());
}

TEST(TextTest, RefusesWhatIsNotUtf8) {
  // A lone continuation byte, a cut character, a surrogate, two encodings that are too long, and a code point beyond
  // U+10FFFF.
  for (const char* text :
       {"ab\x80", "ab\xE2\x82", "ab\xED\xA0\x80", "ab\xC0\xAF", "ab\xE0\x80\xAF", "ab\xF4\x90\x80\x80"}) {
    const auto characters = CharactersOf(text);
    ASSERT_TRUE(absl::IsInvalidArgument(characters.status())) << text;
    EXPECT_THAT(std::string(characters.status().message()), HasSubstr("byte 2")) << text;
  }
}

TEST(TextTest, WordsAreLowerCaseWithPunctuationApart) {
  EXPECT_THAT(WordsOf("  It's two-piece.\t"), ElementsAre("it", "'", "s", "two", "-", "piece", "."));
  EXPECT_THAT(WordsOf("Ärzte ÜBER 3×4 ß"), ElementsAre("ärzte", "über", "3×4", "ß"));
  EXPECT_TRUE(WordsOf(" \n").empty());
}

TEST(NumberWordsTest, SpellsNumbers) {
  EXPECT_THAT(NumberInWords(1), ElementsAre("one"));
  EXPECT_THAT(NumberInWords(19), ElementsAre("nineteen"));
  EXPECT_THAT(NumberInWords(40), ElementsAre("forty"));
  EXPECT_THAT(NumberInWords(8000), ElementsAre("eight", "thousand"));
  EXPECT_THAT(NumberInWords(1234), ElementsAre("one", "thousand", "two", "hundred", "thirty", "four"));
  EXPECT_THAT(NumberInWords(9013), ElementsAre("nine", "thousand", "thirteen"));
}

// Parses a number from its words, independently of NumberInWords.
int ValueOf(const std::vector<std::string>& words) {
  static const std::map<std::string, int> values = {
      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},     {"five", 5},       {"six", 6},
      {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},     {"eleven", 11},    {"twelve", 12},
      {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18},
      {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},   {"fifty", 50},     {"sixty", 60},
      {"seventy", 70},  {"eighty", 80},   {"ninety", 90}};
  int value = 0, part = 0;
  for (const std::string& word : words) {
    if (word == "thousand" || word == "hundred") {
      value += part * (word == "thousand" ? 1000 : 100);
      part = 0;
    } else {
      part += values.at(word);
    }
  }
  return value + part;
}

// The expected figures are those published for the KV transformer's corpus.
TEST(NumberWordsTest, CorpusHasThePublishedCounts) {
  const std::vector<std::string> tokens = NumberWords();
  EXPECT_EQ(tokens.size(), 63'095u);
  const EncodedText text = EncodeTokens(tokens);
  EXPECT_EQ(text.vocabulary.size(), 30u);
  std::vector<std::string> words;
  int expected = 1;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    if (i < tokens.size() && tokens[i] != ".") {
      words.push_back(tokens[i]);
      continue;
    }
    ASSERT_EQ(ValueOf(words), expected);
    words.clear();
    if (++expected == 8000) ++expected;
  }
  EXPECT_EQ(expected, 10'000);
}

}  // namespace
}  // namespace vitrine
