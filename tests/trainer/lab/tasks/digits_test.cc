// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/trainer/tasks/task_testing.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using testing::MembersOf;
using testing::RefusalOf;
using testing::TaskOf;

std::string Digits(const std::string& task, int length, int seed = 1) {
  return "seed: " + std::to_string(seed) +
         " sequence { model: \"task-kv-pos-d32-l2\" digits { length: " + std::to_string(length) +
         " train: 6400 validation: 300 test: 250 " + task + " } }";
}

// Returns the digits of a batch, one string per sequence.
std::vector<std::string> SequencesOf(const TrainingBatch& batch) {
  const at::Tensor digits = batch.sequences.source.argmax(-1);
  std::vector<std::string> sequences;
  for (int64_t i = 0; i < digits.size(0); ++i) {
    std::string sequence;
    for (int64_t t = 0; t < digits.size(1); ++t) sequence += static_cast<char>('0' + digits[i][t].item<int64_t>());
    sequences.push_back(sequence);
  }
  return sequences;
}

TEST(DigitTaskTest, LearnsToCopy) {
  const auto task = TaskOf(Digits("task: COPY", 8));
  const auto model = testing::TrainFor(*task, 64, 120, 2e-3);
  const Score score = *task->MeasureOn(MeasuredSplit::kTest, *model, {});
  EXPECT_EQ(score.samples, 250);
  EXPECT_EQ(score.measures.front().name, "accuracy");
  EXPECT_TRUE(score.larger_is_better);
  EXPECT_GT(testing::MeasureOf(score, "accuracy"), 0.95);
  EXPECT_LT(testing::MeasureOf(score, "loss"), 0.5);
}

TEST(DigitTaskTest, LabelsFollowTheTask) {
  const auto members = MembersOf({0, 1, 2});
  const TrainingBatch swap = *TaskOf(Digits("task: SWAP", 7))->MakeBatch(0, 0, members);
  EXPECT_TRUE(at::equal(swap.labels, swap.sequences.source.argmax(-1).roll({-3}, {1})));
}

TEST(DigitTaskTest, ASampleDependsOnlyOnSeedAndNumber) {
  const auto task = TaskOf(Digits("task: SORT", 16)), again = TaskOf(Digits("task: SORT", 16));
  const TrainingBatch batch = *task->MakeBatch(0, 0, MembersOf({3, 7, 11}));
  const TrainingBatch other = *again->MakeBatch(5, 9, MembersOf({7}));
  EXPECT_EQ(SequencesOf(batch)[1], SequencesOf(other)[0]);
  EXPECT_NE(SequencesOf(batch)[0], SequencesOf(batch)[1]);
  const auto second = TaskOf(Digits("task: SORT", 16, /*seed=*/2));
  EXPECT_NE(SequencesOf(*second->MakeBatch(0, 0, MembersOf({7}))), SequencesOf(other));
  EXPECT_EQ(task->data_digest(), again->data_digest());
  EXPECT_NE(task->data_digest(), second->data_digest());
}

// Two sequences of 16 random digits are practically never equal by chance.
TEST(DigitTaskTest, SequencesDoNotRepeat) {
  // Seed 42 is also the seed of the validation and test splits.
  const auto task = TaskOf(Digits("task: COPY", 16, /*seed=*/42));
  std::set<std::string> seen;
  for (const std::string& sequence : SequencesOf(*task->MakeBatch(0, 0, task->EpochMembers(0)))) seen.insert(sequence);
  EXPECT_EQ(seen.size(), 6400u);
}

TEST(DigitTaskTest, ScoresDoNotDependOnThreads) {
  const auto task = TaskOf("validation_share: 0.05 evaluate_every: 1 " + Digits("task: SORT", 8));
  const auto model = *task->MakeModel();
  const Score one = *task->MeasureOn(MeasuredSplit::kValidation, *model, {.threads = 1});
  const Score three = *task->MeasureOn(MeasuredSplit::kValidation, *model, {.threads = 3});
  EXPECT_EQ(one.samples, 300);
  EXPECT_EQ(testing::MeasureOf(one, "loss"), testing::MeasureOf(three, "loss"));
  EXPECT_NE(testing::MeasureOf(one, "loss"),
            testing::MeasureOf(*task->MeasureOn(MeasuredSplit::kTest, *model, {}), "loss"));
  const auto held_nothing = TaskOf(Digits("task: SORT", 8));
  EXPECT_EQ(held_nothing->MeasureOn(MeasuredSplit::kValidation, *model, {})->samples, 250);  // uses the test split
  const std::atomic<bool> stop = true;
  EXPECT_TRUE(absl::IsCancelled(task->MeasureOn(MeasuredSplit::kTest, *model, {.stop = &stop}).status()));
}

TEST(DigitTaskTest, SharesOfABatchGiveTheSameLoss) {
  const auto task = TaskOf(Digits("task: SORT", 8));
  const auto model = *task->MakeModel();
  const auto [whole, shared] =
      testing::LossWholeAndShared(*task, *model, *task->MakeBatch(0, 0, MembersOf({0, 1, 2, 3, 4})), 2);
  EXPECT_NEAR(whole, shared, 1e-6);
}

TEST(DigitTaskTest, RefusesInvalidSettings) {
  EXPECT_THAT(RefusalOf(Digits("", 8)), HasSubstr("sequence.digits.task is missing"));
  EXPECT_THAT(RefusalOf(Digits("task: COPY", 0)), HasSubstr("sequence.digits.length is 0; allowed: 1 to 200"));
  EXPECT_THAT(RefusalOf(Digits("task: COPY", 201)), HasSubstr("sequence.digits.length is 201"));
  EXPECT_THAT(RefusalOf(Digits("task: COPY", 8), "mnist:folder"), HasSubstr("generates its data"));
  EXPECT_THAT(RefusalOf("sequence { model: \"anomaly-kv-d256-l2\" digits { task: COPY length: 8 } }"),
              HasSubstr("use a row task-*"));
  EXPECT_THAT(RefusalOf("sequence { model: \"task-kv-d32-l2\" digits { task: COPY length: 8 test: -1 } }"),
              HasSubstr("sequence.digits.test is -1"));
}

}  // namespace
}  // namespace vitrine
