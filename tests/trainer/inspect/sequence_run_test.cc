// SPDX-License-Identifier: Apache-2.0
#include "trainer/inspect/sequence_run.h"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/trainer/inspect/trained_sequences.h"
#include "trainer/state.h"

namespace vitrine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string RefusalOf(const std::filesystem::path& folder, const std::string& data = "") {
  return std::string(SequenceRun::Open(folder, data).status().message());
}

TEST(SequenceRun, UsesTheWeightsOfTheReportedScore) {
  EXPECT_EQ(testing::RunOf(testing::DigitsText("kv")).weights(), "step 4");
  EXPECT_EQ(testing::RunOf("ema_decay: 0.5 " + testing::DigitsText("kv")).weights(), "average, step 4");
  const ScratchFolder folder;
  testing::TrainIn(folder, "evaluate_every: 1 validation_share: 0.1 " + testing::DigitsText("kv"));
  const auto best = *MakeSequenceModel(SequenceRun::Open(folder.path(), "")->model().config(), /*seed=*/7);
  ASSERT_TRUE(SaveBest(folder.path(), *best).ok());
  const SequenceRun run = *SequenceRun::Open(folder.path(), "");
  EXPECT_EQ(run.weights(), "best, step 4");
  EXPECT_TRUE(at::equal(best->Parameters()[0].tensor, run.model().Parameters()[0].tensor));
}

TEST(SequenceRun, ErrorsDescribeRunsThatCannotBeOpened) {
  const ScratchFolder folder;
  EXPECT_THAT(RefusalOf(folder.path()), HasSubstr("has no state of a run; give the --work of `vitrine-train run`"));
  testing::TrainIn(folder, testing::TranslationText(), "generated:numbers");
  EXPECT_THAT(RefusalOf(folder.path()), HasSubstr("needs --data"));
  const ScratchFolder other;
  for (const char* split : {"train", "val", "test"}) {
    for (const char* language : {"de", "en"}) {
      std::ofstream(other.path() / (std::string(split) + "." + language)) << "ein mann\n";
    }
  }
  EXPECT_THAT(RefusalOf(folder.path(), "parallel:" + other.path().string()),
              HasSubstr("was trained on; give the --data of that run"));
  std::filesystem::remove(PreviousStateFile(folder.path()));
  std::filesystem::resize_file(StateFile(folder.path()), 100);
  EXPECT_THAT(RefusalOf(folder.path(), "generated:numbers"), HasSubstr("no state in it can be read: train it again"));
}

TEST(SequenceRun, ReportsThatItUsesThePreviousState) {
  const ScratchFolder folder;
  testing::TrainIn(folder, testing::DigitsText("kv"));
  ASSERT_TRUE(std::filesystem::exists(PreviousStateFile(folder.path())));
  std::filesystem::resize_file(StateFile(folder.path()), 100);
  const auto run = SequenceRun::Open(folder.path(), "");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->remark(), HasSubstr("the file is truncated; the state before it is used"));
}

TEST(SequenceRun, ReadsOnlyTokensOfTheVocabulary) {
  const auto refusal = [](const SequenceRun& run, const std::string& text) {
    return std::string(run.Read(text).status().message());
  };
  const SequenceRun digits = testing::RunOf(testing::DigitsText("kv"));
  EXPECT_THAT(digits.Read("3 14")->source, ElementsAre("3", "1", "4"));
  EXPECT_EQ(refusal(digits, "3 x"), "\"3 x\" is not a sequence of digits; write 3 1 4 or 314");
  EXPECT_EQ(refusal(digits, " "), "the text is empty");
  EXPECT_THAT(refusal(digits, std::string(5000, '1')), HasSubstr("5000 elements; this model takes 1 to "));
  const SequenceRun numbers = testing::RunOf(testing::NumbersText("kv"));
  EXPECT_THAT(numbers.Read("Twenty one. two")->source, ElementsAre("twenty", "one", ".", "two"));
  EXPECT_THAT(refusal(numbers, "one zero"),
              HasSubstr("\"zero\" is not in the run's vocabulary, which is: . eight eighteen eighty"));
  EXPECT_EQ(numbers.vocabulary().size(), 30);
  const SequenceRun translation = testing::RunOf(testing::TranslationText(), "generated:numbers");
  std::string words;
  for (int i = 0; i < 400; ++i) words += "4 ";
  EXPECT_THAT(refusal(translation, words), HasSubstr("402 elements; this model takes 1 to "));
  NamedSequence sentence = *translation.Read("4 x");
  EXPECT_THAT(sentence.source, ElementsAre("<bos>", "4", "x", "<eos>"));
  EXPECT_EQ(sentence.batch.source[0][2].item<int64_t>(), WordVocabulary::kUnknown);
  ASSERT_TRUE(translation.Translate(sentence).ok());
  EXPECT_EQ(sentence.target.front(), "<bos>");
  EXPECT_THAT(sentence.target, Each(MatchesRegex("[a-z]+|<[a-z]+>"))) << "an id beyond the vocabulary is <unk>";
  EXPECT_EQ(sentence.source.size(), 4);
}

TEST(SequenceRun, ReadsCharactersOfItsText) {
  const ScratchFolder folder;
  const std::string file = folder.path() / "text";
  {
    std::ofstream text(file);
    for (int i = 0; i < 100; ++i) text << "to be\nor not. ";
  }
  const SequenceRun run = testing::RunOf(
      "sequence { model: \"characters-kv-d64-l1\" language { text: CHARACTERS context: 8 samples: 64 } }",
      "text:" + file);
  EXPECT_THAT(run.Read("e\nor ")->source, ElementsAre("e", "\\n", "o", "r", "' '"));
  EXPECT_THAT(std::string(run.Read("To").status().message()),
              HasSubstr("\"T\" is not in the run's vocabulary, which is: \\n ' ' . b e n o r t"));
}

TEST(SequenceRun, MarksTheAnomalyOfASet) {
  const SequenceRun run = testing::RunOf(
      "epochs: 0.02 sequence { model: \"anomaly-kv-d256-l2\" model_overrides { features { width: 8 } width: 32 } "
      "anomaly { set_size: 4 anomaly_last: true } }",
      "generated:clusters");
  EXPECT_THAT(run.Sample(0)->source, ElementsAre("0", "1", "2", "3*"));
  EXPECT_THAT(std::string(run.Sample(2000).status().message()),
              HasSubstr("--sample 2000 does not exist; the run has 0 to 1999"));
  EXPECT_THAT(std::string(run.Read("1 2").status().message()), HasSubstr("cannot be given as text; use --sample"));
}

}  // namespace
}  // namespace vitrine
