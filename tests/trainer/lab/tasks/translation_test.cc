// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/translation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scratch_folder.h"
#include "tests/trainer/tasks/task_testing.h"
#include "trainer/lab/data/parallel_text.h"
#include "trainer/lab/tasks/decode.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using testing::MembersOf;
using testing::RefusalOf;
using testing::TaskOf;

std::string Translation(const std::string& settings = "smoothing: 0.1", const std::string& more = "") {
  return "seed: 1 " + more +
         " sequence { model: \"translation-qkv-d64-l1\" model_overrides { pair { source_vocabulary: 40 "
         "target_vocabulary: 40 } width: 32 heads: 2 mlp_width: 64 } translation { " +
         settings + " } }";
}

void WriteCorpus(const ScratchFolder& folder) {
  folder.Write("train.de", "ein hund\nzwei kleine hunde rennen\nein haus\n");
  folder.Write("train.en", "a dog\ntwo small dogs run fast\na house\n");
  for (const std::string split : {"val", "test"}) {
    folder.Write(split + ".de", "ein hund\n");
    folder.Write(split + ".en", "a dog\n");
  }
}

TEST(TranslationTaskTest, LearnsToSpellNumbers) {
  const auto task = TaskOf(Translation(), "generated:numbers");
  EXPECT_EQ(task->samples_in_words(), "sentences");
  EXPECT_EQ(task->samples(), 7999);
  const auto before = *task->MakeModel();
  const auto model = testing::TrainFor(*task, 64, 250, 5e-3);
  const Score first = *task->MeasureOn(MeasuredSplit::kTest, *before, {.threads = 2});
  const Score score = *task->MeasureOn(MeasuredSplit::kTest, *model, {.threads = 2});
  EXPECT_EQ(score.samples, 1000);
  EXPECT_EQ(score.measures.front().name, "bleu");
  EXPECT_LT(testing::MeasureOf(first, "bleu"), 0.05);
  EXPECT_GT(testing::MeasureOf(score, "bleu"), 0.3);
  EXPECT_GT(testing::MeasureOf(score, "accuracy"), 0.6);
}

// The expected value is written out from the definition.
TEST(TranslationTaskTest, DivergenceUsesTheSmoothedTarget) {
  constexpr double kSmoothing = 0.1;
  constexpr int64_t kPadding = 1, kVocabulary = 7;
  const at::Tensor logits = at::randn({2, 3, kVocabulary});
  const at::Tensor labels = at::tensor({4, 0, 1, 6, 1, 1}, at::kLong).view({2, 3});
  const at::Tensor divergence = SmoothedDivergence(logits, labels, kSmoothing, kPadding);
  const at::Tensor log_q = logits.log_softmax(-1);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t t = 0; t < 3; ++t) {
      const int64_t label = labels[i][t].item<int64_t>();
      double expected = 0;
      for (int64_t v = 0; v < kVocabulary && label != kPadding; ++v) {
        if (v == kPadding) continue;
        const double p = v == label ? 1 - kSmoothing : kSmoothing / (kVocabulary - 2);
        expected += p * (std::log(p) - log_q[i][t][v].item<double>());
      }
      EXPECT_NEAR(divergence[i][t].item<double>(), expected, 1e-5);
    }
  }
  const double sharp = SmoothedDivergence(logits, labels, 0, kPadding).sum().item<double>() / 3;
  EXPECT_NEAR(
      sharp,
      at::cross_entropy_loss(logits.flatten(0, 1), labels.flatten(), {}, at::Reduction::Mean, kPadding).item<double>(),
      1e-5);
}

TEST(TranslationTaskTest, LabelsAreTheTargetShiftedByOneWord) {
  const ScratchFolder folder;
  WriteCorpus(folder);
  const auto task = TaskOf(Translation(), "parallel:" + folder.path().string());
  const TrainingBatch batch = *task->MakeBatch(0, 0, MembersOf({0, 1}));
  // The ids begin with <unk>, <pad>, <bos> and <eos>. The words follow, sorted by frequency and then by bytes: "ein
  // haus hund ..." and "a dog dogs ...".
  EXPECT_TRUE(at::equal(batch.sequences.source[0], at::tensor({2, 4, 6, 3, 1, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(batch.sequences.target[0], at::tensor({2, 4, 5, 3, 1, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(batch.labels[0], at::tensor({4, 5, 3, 1, 1, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(batch.sequences.target.slice(1, 1), batch.labels.slice(1, 0, -1)));
}

TEST(TranslationTaskTest, TranslatesInBothDirections) {
  const ScratchFolder folder;
  WriteCorpus(folder);
  const std::string data = "parallel:" + folder.path().string();
  const auto there = TaskOf(Translation(), data), back = TaskOf(Translation("reversed: true"), data);
  EXPECT_TRUE(at::equal((*there->MakeBatch(0, 0, MembersOf({1}))).sequences.source.slice(1, 1),
                        (*back->MakeBatch(0, 0, MembersOf({1}))).labels));
  EXPECT_NE(there->data_digest(), back->data_digest());
}

// Padding changes neither the loss nor the counts. If a batch is divided into shares, each word has the same weight as
// in the whole batch.
TEST(TranslationTaskTest, PaddingDoesNotCount) {
  const ScratchFolder folder;
  WriteCorpus(folder);
  const auto task = TaskOf(Translation(), "parallel:" + folder.path().string());
  const auto model = *task->MakeModel();
  const auto loss = [&](const std::vector<int64_t>& samples) {
    return task->Loss(*model, *task->MakeBatch(0, 0, MembersOf(samples)), {});
  };
  const BatchLoss both = loss({0, 1}), one = loss({0}), other = loss({1});
  EXPECT_EQ(one.predictions, 3);
  EXPECT_EQ(other.predictions, 6);
  EXPECT_EQ(both.predictions, 9);
  EXPECT_NEAR(both.loss.item<double>(), (3 * one.loss.item<double>() + 6 * other.loss.item<double>()) / 9, 1e-5);
  const auto [whole, shared] =
      testing::LossWholeAndShared(*task, *model, *task->MakeBatch(0, 0, MembersOf({0, 1, 2})), 2);
  EXPECT_NEAR(whole, shared, 1e-5);
}

TEST(TranslationTaskTest, GreedyDecodingChoosesTheMostLikelyWord) {
  const auto task = TaskOf(Translation(), "generated:numbers");
  const auto module = testing::TrainFor(*task, 64, 40, 5e-3);
  const auto& model = static_cast<const SequenceModel&>(*module);
  const TrainingBatch batch = *task->MakeBatch(0, 0, MembersOf({0, 1, 2, 3}));
  const auto answers = *GreedyDecode(model, batch.sequences.source, {2, 3}, 12);
  for (int64_t i = 0; i < 4; ++i) {
    // Decodes one sentence after the other, without padding.
    const at::Tensor source = batch.sequences.source[i].unsqueeze(0);
    std::vector<int64_t> expected;
    while (expected.size() < 12) {
      std::vector<int64_t> so_far = {2};
      so_far.insert(so_far.end(), expected.begin(), expected.end());
      const at::Tensor logits = *RunSequenceModel(
          model, {source.masked_select(source.ne(1)).unsqueeze(0), at::tensor(so_far, at::kLong).unsqueeze(0)});
      const int64_t next = logits.select(1, -1).argmax().item<int64_t>();
      if (next == 3) break;
      expected.push_back(next);
    }
    EXPECT_EQ(answers[i], expected);
  }
}

TEST(TranslationTaskTest, RefusesUnsuitableDataAndModels) {
  const ScratchFolder folder;
  WriteCorpus(folder);
  const std::string data = "parallel:" + folder.path().string();
  EXPECT_THAT(RefusalOf(Translation("smoothing: 0.1", "data { hint: \"parallel:DIR\" origin: \"Multi30k.\" }")),
              HasSubstr("needs --data parallel:DIR. Multi30k."));
  EXPECT_THAT(RefusalOf(Translation("smoothing: 1"), data), HasSubstr("sequence.translation.smoothing is 1"));
  EXPECT_THAT(RefusalOf(Translation("most_words: 50"), data), HasSubstr("most_words is 50"));
  EXPECT_THAT(RefusalOf(Translation("", "label_smoothing: 0.1"), data), HasSubstr("label_smoothing is set"));
  EXPECT_THAT(RefusalOf("sequence { model: \"numbers-kv-d64-l4\" translation {} }", data),
              HasSubstr("does not translate"));
  EXPECT_THAT(RefusalOf("sequence { model: \"translation-kv-d64-l1\" model_overrides { pair { padding: 0 } } "
                        "translation {} }",
                        data),
              HasSubstr("padding must be 1"));
  EXPECT_THAT(RefusalOf("sequence { model: \"translation-kv-d64-l1\" model_overrides { max_length: 6 } "
                        "translation {} }",
                        data),
              HasSubstr("sentence 2 of train has 5 words, the maximum of the model is 4"));
}

}  // namespace
}  // namespace vitrine
