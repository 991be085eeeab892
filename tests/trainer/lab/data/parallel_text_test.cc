// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/parallel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void WriteCorpus(const ScratchFolder& folder) {
  folder.Write("train.en", "A dog runs.\nTwo dogs\n");
  folder.Write("train.de", "Ein Hund läuft.\nZwei Hunde\n");
  for (const std::string split : {"val", "test"}) {
    folder.Write(split + ".en", "A cat\n");
    folder.Write(split + ".de", "Eine Katze\n");
  }
}

TEST(ParallelTextTest, ReadsTheLanguagesOfTheFolder) {
  const ScratchFolder folder;
  WriteCorpus(folder);
  const auto text = ReadParallelText(folder.path());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->languages, ElementsAre("de", "en"));
  ASSERT_EQ(text->train[0].size(), 2u);
  EXPECT_THAT(text->train[0][0], ElementsAre("ein", "hund", "läuft", "."));
  EXPECT_THAT(text->train[1][1], ElementsAre("two", "dogs"));
  EXPECT_THAT(text->validation[1][0], ElementsAre("a", "cat"));
  EXPECT_EQ(text->test[0].size(), 1u);
}

TEST(ParallelTextTest, ErrorsNameMissingFiles) {
  const ScratchFolder folder;
  EXPECT_THAT(std::string(ReadParallelText(folder.path() / "absent").status().message()), HasSubstr("not a folder"));
  EXPECT_THAT(std::string(ReadParallelText(folder.path()).status().message()),
              HasSubstr("has 0 files train.<language>"));
  WriteCorpus(folder);
  std::filesystem::remove(folder.path() / "val.en");
  const auto no_file = ReadParallelText(folder.path());
  EXPECT_TRUE(absl::IsNotFound(no_file.status())) << no_file.status();
  EXPECT_THAT(std::string(no_file.status().message()), HasSubstr("val.en"));
  folder.Write("train.fr", "Un chien\n");
  EXPECT_THAT(std::string(ReadParallelText(folder.path()).status().message()), HasSubstr("(.de, .en, .fr)"));
}

TEST(ParallelTextTest, RefusesLinesWithoutTranslation) {
  const ScratchFolder folder;
  WriteCorpus(folder);
  folder.Write("test.en", "A cat\nA mouse\n");
  EXPECT_THAT(std::string(ReadParallelText(folder.path()).status().message()),
              HasSubstr("test.de has 1 lines, test.en 2"));
  folder.Write("test.en", "A cat\n");
  folder.Write("train.de", " \nEin Hund\n");
  EXPECT_THAT(std::string(ReadParallelText(folder.path()).status().message()), HasSubstr("train.de:1 has no word"));
}

TEST(ParallelTextTest, NumbersAreInOneSplitEach) {
  const ParallelText text = NumberTranslations();
  EXPECT_EQ(text.train[0].size(), 7999u);
  EXPECT_EQ(text.validation[0].size(), 1000u);
  EXPECT_EQ(text.test[1].size(), 1000u);
  std::set<Sentence> digits, words;
  for (const SentencePairs* split : {&text.train, &text.validation, &text.test}) {
    digits.insert((*split)[0].begin(), (*split)[0].end());
    words.insert((*split)[1].begin(), (*split)[1].end());
  }
  EXPECT_EQ(digits.size(), 9999u);
  EXPECT_EQ(words.size(), 9999u);
}

TEST(WordVocabularyTest, KeepsTheMostFrequentWords) {
  const std::vector<Sentence> sentences = {{"b", "a", "c"}, {"c", "b"}, {"c", "d"}};
  const WordVocabulary vocabulary(sentences, 3);
  ASSERT_EQ(vocabulary.size(), WordVocabulary::kMarks + 3);
  EXPECT_EQ(vocabulary.word(4), "c");
  EXPECT_EQ(vocabulary.word(5), "b");
  EXPECT_EQ(vocabulary.word(6), "a");  // as frequent as d, but earlier in the byte order
  EXPECT_THAT(vocabulary.Encode({"a", "d", "c"}),
              ElementsAre(WordVocabulary::kBegin, 6, WordVocabulary::kUnknown, 4, WordVocabulary::kEnd));
  EXPECT_THAT(vocabulary.Decode(std::vector<int64_t>{2, 6, 0, 4, 3, 5, 1}), ElementsAre("a", "<unk>", "c"));
  EXPECT_THAT(vocabulary.Decode(std::vector<int64_t>{2, 7, 4}), ElementsAre("<unk>", "c"));
}

}  // namespace
}  // namespace vitrine
