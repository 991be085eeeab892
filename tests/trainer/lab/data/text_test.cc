// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(TextTest, SplitsTextIntoCodePoints) {
  EXPECT_THAT(*CharactersOf("a\né€😀"), ElementsAre("a", "\n", "é", "€", "😀"));
  EXPECT_TRUE(CharactersOf("")->empty());
}

TEST(TextTest, RefusesInvalidUtf8) {
  // The texts have a lone continuation byte, an incomplete character, a surrogate, two overlong encodings, and a code
  // point beyond U+10FFFF.
  for (const char* text :
       {"ab\x80", "ab\xE2\x82", "ab\xED\xA0\x80", "ab\xC0\xAF", "ab\xE0\x80\xAF", "ab\xF4\x90\x80\x80"}) {
    const auto characters = CharactersOf(text);
    ASSERT_TRUE(absl::IsInvalidArgument(characters.status())) << text;
    EXPECT_THAT(std::string(characters.status().message()), HasSubstr("byte 2")) << text;
  }
}

TEST(TextTest, WordsAreLowerCaseWithSeparatePunctuation) {
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

// The expected figures were published for the KV transformer's corpus.
TEST(NumberWordsTest, CorpusHasThePublishedCounts) {
  const std::vector<std::string> tokens = NumberWords();
  EXPECT_EQ(tokens.size(), 63'095u);
  EXPECT_EQ(EncodeTokens(tokens).vocabulary.size(), 30u);
}

}  // namespace
}  // namespace vitrine
