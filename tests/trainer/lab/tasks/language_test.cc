// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scratch_folder.h"
#include "tests/trainer/tasks/task_testing.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using testing::MembersOf;
using testing::RefusalOf;
using testing::TaskOf;

// Returns a recipe for a small model from the row `model` of the zoo.
std::string Language(const std::string& model, const std::string& settings, const std::string& more = "") {
  return "seed: 1 " + more + " sequence { model: \"" + model +
         "\" model_overrides { width: 32 depth: 1 heads: 2 mlp_width: 64 } language { " + settings + " } }";
}

TEST(LanguageTaskTest, LearnsNumberWords) {
  const auto task = TaskOf(Language("numbers-kv-pos-d64-l4", "context: 32 text: NUMBER_WORDS"));
  // 80 % of 63,095 tokens are for training. A sample has 32 tokens, and the last token of a sample needs a next token.
  EXPECT_EQ(task->samples(), (50'476 - 1) / 32);
  const auto model = testing::TrainFor(*task, 32, 250, 1e-2);
  const Score score = *task->MeasureOn(MeasuredSplit::kTest, *model, {.threads = 2});
  EXPECT_EQ(score.samples, (12'619 - 1) / 32);
  EXPECT_EQ(score.measures.front().name, "loss");
  EXPECT_FALSE(score.larger_is_better);
  EXPECT_LT(testing::MeasureOf(score, "loss"), 2.4);  // ln 30 = 3.4 by chance
  EXPECT_GT(testing::MeasureOf(score, "accuracy"), 0.25);
  EXPECT_DOUBLE_EQ(testing::MeasureOf(score, "perplexity"), std::exp(testing::MeasureOf(score, "loss")));
}

TEST(LanguageTaskTest, LearnsCharactersOfAFile) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the hé quick\n";
  const std::string file = folder.Write("text", text);
  // The file has 12 different characters; the vocabulary has 65.
  const auto task = TaskOf(
      Language("characters-kv-pos-d64-l1", "context: 16 text: CHARACTERS samples: 640", "data { format: \"text\" }"),
      file);
  const auto model = testing::TrainFor(*task, 32, 100, 5e-3);
  EXPECT_GT(testing::MeasureOf(*task->MeasureOn(MeasuredSplit::kTest, *model, {}), "accuracy"), 0.9);
}

TEST(LanguageTaskTest, LabelsAreTheNextTokens) {
  const auto task = TaskOf(Language("numbers-kv-d64-l4", "context: 8 text: NUMBER_WORDS"));
  const TrainingBatch batch = *task->MakeBatch(0, 0, MembersOf({0, 1}));
  EXPECT_TRUE(at::equal(batch.sequences.source.slice(1, 1), batch.labels.slice(1, 0, -1)));
  EXPECT_TRUE(at::equal(batch.sequences.source[1][0], batch.labels[0][7]));  // the second window follows the first
}

TEST(LanguageTaskTest, RandomWindowsDependOnlyOnTheEpoch) {
  const auto task = TaskOf(Language("numbers-kv-d64-l4", "context: 8 text: NUMBER_WORDS samples: 100"));
  EXPECT_EQ(task->samples(), 100);
  const auto window = [&](int64_t epoch, int64_t index, const std::vector<int64_t>& samples) {
    const auto batch = *task->MakeBatch(epoch, index, MembersOf(samples));
    return batch.sequences.source[batch.samples - 1];
  };
  EXPECT_TRUE(at::equal(window(0, 0, {3, 5}), window(0, 4, {5})));
  EXPECT_FALSE(at::equal(window(0, 0, {5}), window(1, 0, {5})));
}

// The text has a different letter in the part of each split.
TEST(LanguageTaskTest, SplitsTheTextInOrder) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i < 700 ? 'a' : i < 800 ? 'b' : 'c');
  const std::string data = "text:" + folder.Write("text", text).string();
  const auto task = TaskOf(Language("characters-kv-d64-l1", "context: 9 text: CHARACTERS test_share: 0.2",
                                    "validation_share: 0.125 evaluate_every: 1"),
                           data);
  const TrainingBatch train = *task->MakeBatch(0, 0, task->EpochMembers(0));
  EXPECT_EQ(train.samples, 699 / 9);
  EXPECT_TRUE(train.sequences.source.eq(0).all().item<bool>());  // only the letter a
  const auto model = *task->MakeModel();
  EXPECT_EQ(task->MeasureOn(MeasuredSplit::kValidation, *model, {})->samples, 99 / 9);
  EXPECT_EQ(task->MeasureOn(MeasuredSplit::kTest, *model, {})->samples, 199 / 9);
}

TEST(LanguageTaskTest, RefusesUnsuitableDataAndModels) {
  const ScratchFolder folder;
  const std::string characters = "characters-kv-d64-l1";
  EXPECT_THAT(RefusalOf(Language(characters, "context: 8 text: CHARACTERS", "data { hint: \"text:FILE\" }")),
              HasSubstr("needs --data text:FILE"));
  EXPECT_THAT(RefusalOf(Language(characters, "context: 8 text: CHARACTERS"), "text:/absent"), HasSubstr("/absent"));
  EXPECT_THAT(
      RefusalOf(Language(characters, "context: 8 text: CHARACTERS"), "text:" + folder.Write("bad", "ab\xFF").string()),
      HasSubstr("not UTF-8 at byte 2"));
  std::string many;
  for (int i = 0; i < 80; ++i) many += static_cast<char>(32 + i);
  EXPECT_THAT(
      RefusalOf(Language(characters, "context: 8 text: CHARACTERS"), "text:" + folder.Write("m", many).string()),
      HasSubstr("model_overrides.tokens.vocabulary=80"));
  EXPECT_THAT(
      RefusalOf(Language(characters, "context: 8 text: CHARACTERS"), "text:" + folder.Write("s", "abc").string()),
      HasSubstr("each split needs more than sequence.language.context"));
  EXPECT_THAT(RefusalOf(Language(characters, "context: 65 text: CHARACTERS"), "generated:numbers"),
              HasSubstr("sequence.language.context is 65; allowed: 1 to 64"));
  EXPECT_THAT(RefusalOf(Language("numbers-kv-d64-l4", "context: 8 text: NUMBER_WORDS",
                                 "validation_share: 1e-9 evaluate_every: 1")),
              HasSubstr(" 0 for validation "));
  EXPECT_THAT(RefusalOf(Language("numbers-kv-d64-l4", "context: 8")), HasSubstr("sequence.language.text is missing"));
  EXPECT_THAT(RefusalOf(Language("numbers-kv-d64-l4", "context: 8 text: NUMBER_WORDS"), "text:x"),
              HasSubstr("generates its data"));
  EXPECT_THAT(RefusalOf(Language("task-kv-d32-l2", "context: 8 text: NUMBER_WORDS")), HasSubstr("use a row"));
}

}  // namespace
}  // namespace vitrine
