// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/bleu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "absl/strings/str_split.h"

namespace vitrine {
namespace {

using Words = std::vector<std::string>;

Words Split(const std::string& sentence) {
  return absl::StrSplit(sentence, ' ', absl::SkipEmpty());
}

BleuCounts CountsOf(const std::string& candidate, const std::string& reference) {
  BleuCounts counts;
  counts.Add(Split(candidate), Split(reference));
  return counts;
}

// This is the first example of Papineni et al. 2002: "the" counts only as often as the reference has it.
TEST(BleuTest, ClipsRepeatedWords) {
  const BleuCounts counts = CountsOf("the the the the the the the", "the cat is on the mat");
  EXPECT_EQ(counts.matches[0], 2);
  EXPECT_EQ(counts.candidates[0], 7);
  EXPECT_EQ(counts.matches[1], 0);
  EXPECT_EQ(counts.Bleu(), 0);
}

// The expected value is computed by hand: the n-gram precisions over both sentences are 12/13, 8/11, 5/9 and 3/7. The
// answers have 13 words and the references 14, so the result is exp(1 - 14/13) (12/13 8/11 5/9 3/7)^(1/4).
TEST(BleuTest, SumsCountsOfACorpusBeforeDividing) {
  BleuCounts counts = CountsOf("the cat sat on the mat", "the cat is on the mat");
  counts.Add(CountsOf("there is a small cat here today", "there is a small cat here now today"));
  EXPECT_THAT(counts.matches, ::testing::ElementsAre(12, 8, 5, 3));
  EXPECT_THAT(counts.candidates, ::testing::ElementsAre(13, 11, 9, 7));
  EXPECT_EQ(counts.candidate_words, 13);
  EXPECT_EQ(counts.reference_words, 14);
  EXPECT_NEAR(counts.Bleu(), 0.5854829, 1e-6);
}

TEST(BleuTest, PenalizesOnlyShortAnswers) {
  EXPECT_DOUBLE_EQ(CountsOf("a b c d e", "a b c d e").Bleu(), 1);
  EXPECT_NEAR(CountsOf("a b c d", "a b c d e f g h").Bleu(), std::exp(-1), 1e-12);
  // The precisions are 4/5, 3/4, 2/3 and 1/2. There is no penalty, since the answer is longer than the reference.
  EXPECT_NEAR(CountsOf("a b c d e", "a b c d").Bleu(), std::pow(0.2, 0.25), 1e-12);
}

TEST(BleuTest, IsZeroWithoutWords) {
  EXPECT_EQ(BleuCounts().Bleu(), 0);
  EXPECT_EQ(CountsOf("", "a b c d").Bleu(), 0);
  EXPECT_EQ(CountsOf("a b c", "a b c").Bleu(), 0);  // there are no four words in a row
}

}  // namespace
}  // namespace vitrine
