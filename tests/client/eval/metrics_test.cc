// SPDX-License-Identifier: Apache-2.0
#include "client/eval/metrics.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/eval/busy_time.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

// Returns an evaluation of 12 images: three cats and two dogs with answers, five images without a score, and two that
// are missing. One cat is predicted as dog, and one dog as owl; no image is labelled owl.
Evaluation MetricsSample() {
  Evaluation e = MadeEvaluation({{0, {{0, 0.75F}, {1, 0.25F}}},
                                 {0, {{0, 0.5F}, {2, 0.25F}, {1, 0.25F}}},
                                 {0, {{1, 0.75F}, {0, 0.25F}}},
                                 {1, {{1, 1.0F}}},
                                 {1, {{2, 0.5F}, {0, 0.25F}}}});
  const auto add = [&](Outcome outcome, absl::StatusCode code) {
    Prediction p{.index = static_cast<int64_t>(e.predictions.size()), .name = "x", .outcome = outcome, .code = code};
    p.attempts = 3;
    e.predictions.push_back(p);
  };
  add(Outcome::kUnreadable, absl::StatusCode::kNotFound);
  add(Outcome::kUnlabelled, absl::StatusCode::kOk);
  add(Outcome::kRefused, absl::StatusCode::kInvalidArgument);
  add(Outcome::kRefused, absl::StatusCode::kInvalidArgument);
  add(Outcome::kRefused, absl::StatusCode::kInternal);
  e.settings.data_images = e.expected = 12;
  return e;
}

TEST(Metrics, TheLedgerAccountsForEveryImage) {
  const EvaluationLedger ledger = ComputeMetrics(MetricsSample()).ledger;
  EXPECT_EQ(ledger.images, 12);
  EXPECT_EQ(ledger.answered, 5);
  EXPECT_EQ(ledger.unreadable, 1);
  EXPECT_EQ(ledger.unlabelled, 1);
  EXPECT_EQ(ledger.refused, 3);
  EXPECT_EQ(ledger.missing, 2);
  EXPECT_EQ(ledger.refused_by_code.at("INVALID_ARGUMENT"), 2);
  EXPECT_EQ(ledger.refused_by_code.at("INTERNAL"), 1);
  EXPECT_EQ(ledger.retries, 10);
  EXPECT_FALSE(ledger.complete());
  EXPECT_EQ(ledger.images, ledger.answered + ledger.unreadable + ledger.unlabelled + ledger.refused + ledger.missing);
}

TEST(Metrics, ScoresEqualThoseComputedByHand) {
  const EvaluationMetrics m = ComputeMetrics(MetricsSample());
  EXPECT_EQ(m.top1_correct, 3);
  EXPECT_EQ(m.top5_correct, 4) << "the wrong cat has the right class among its guesses, the wrong dog does not";
  EXPECT_DOUBLE_EQ(m.top1, 3.0 / 5);
  EXPECT_DOUBLE_EQ(m.top5, 4.0 / 5);
  ASSERT_EQ(m.classes.size(), 3u);
  EXPECT_DOUBLE_EQ(m.classes[0].precision, 1);
  EXPECT_DOUBLE_EQ(m.classes[0].recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.classes[0].f1, 0.8);
  EXPECT_DOUBLE_EQ(m.classes[1].precision, 0.5);
  EXPECT_DOUBLE_EQ(m.classes[1].recall, 0.5);
  EXPECT_DOUBLE_EQ(m.classes[1].f1, 0.5);
  EXPECT_DOUBLE_EQ(m.classes[2].f1, 0);
  EXPECT_EQ(m.classes[2].images, 0);
  EXPECT_EQ(m.classes[2].predictions, 1);
  EXPECT_DOUBLE_EQ(m.macro_f1, (0.8 + 0.5) / 2) << "the mean must not include owl, which has no images";
  EXPECT_EQ(m.confusion.Count(0, 1), 1);
  EXPECT_EQ(m.confusion.Count(1, 2), 1);
  // The confidences are 0.75 (right), 0.5 (right), 0.75 (wrong), 1 (right), 0.5 (wrong). Three of the 15 bins have
  // answers: two at 0.75, two at 0.5 and one at 1. The error is |1/2 - 0.75| * 2/5 + |1/2 - 0.5| * 2/5 + |1 - 1| * 1/5
  EXPECT_DOUBLE_EQ(m.calibration.ExpectedError(), 0.25 * 2 / 5);
  EXPECT_EQ(m.served_by.at("fp32 cpu"), 5);
}

TEST(Metrics, PercentilesAreValuesThatOccurred) {
  std::vector<double> values;
  for (int i = 1000; i >= 1; --i) values.push_back(i);
  const Percentiles p = PercentilesOf(values);
  EXPECT_EQ(p.p50, 500);
  EXPECT_EQ(p.p90, 900);
  EXPECT_EQ(p.p95, 950);
  EXPECT_EQ(p.p99, 990);
  EXPECT_EQ(p.p999, 999);
  EXPECT_EQ(p.max, 1000);
  EXPECT_DOUBLE_EQ(p.mean, 500.5);
  EXPECT_EQ(PercentilesOf({7}).p50, 7);
  EXPECT_EQ(PercentilesOf({7}).p999, 7);
  EXPECT_EQ(PercentilesOf({}).max, 0);
}

TEST(Metrics, TimeBetweenSessionsDoesNotCount) {
  Evaluation e = MetricsSample();
  e.sessions = {
      {.start = 10, .end = 20}, {.start = 15, .end = 30}, {.start = 100, .end = 105}, {.start = 102, .end = 104}};
  EXPECT_DOUBLE_EQ(BusyTime(e.sessions).Length(), 25);
  EXPECT_DOUBLE_EQ(ComputeMetrics(e).images_per_second, 5.0 / 25) << "only the five answered images count";
}

TEST(Metrics, AnEvaluationWithoutAnswersHasNoScores) {
  const EvaluationMetrics m = ComputeMetrics(MadeEvaluation({}));
  EXPECT_EQ(m.top1, 0);
  EXPECT_EQ(m.macro_f1, 0);
  EXPECT_TRUE(m.latency.empty());
  EXPECT_EQ(m.images_per_second, 0);
}

// Rounding may put a server's probability slightly out of range.
TEST(Metrics, ConfidencesOutOfRangeAreClamped) {
  const EvaluationMetrics m = ComputeMetrics(MadeEvaluation({{0, {{0, 1.5F}}}, {0, {{1, -0.5F}}}}));
  EXPECT_EQ(m.calibration.answers(), 2);
  EXPECT_EQ(m.calibration.ExpectedError(), 0) << "the clamped confidences 1 (right) and 0 (wrong) have no error";
}

TEST(ChosenImages, ShardsTogetherChooseEachImageOnce) {
  for (const int64_t limit : {0, 1, 7, 99, 100, 1000}) {
    std::vector<int64_t> whole = ChosenImages({.data_images = 100, .limit = limit});
    EXPECT_EQ(whole.size(), static_cast<size_t>(limit == 0 ? 100 : std::min<int64_t>(limit, 100)));
    EXPECT_TRUE(std::is_sorted(whole.begin(), whole.end()));
    EXPECT_EQ(std::adjacent_find(whole.begin(), whole.end()), whole.end());
    EXPECT_LT(whole.back(), 100);
    std::vector<int64_t> together;
    for (int64_t i = 1; i <= 8; ++i) {
      const EvaluationSettings shard{.data_images = 100, .limit = limit, .shard = {i, 8}};
      for (const int64_t index : ChosenImages(shard)) together.push_back(index);
      EXPECT_EQ(CountChosen(shard), static_cast<int64_t>(ChosenImages(shard).size())) << limit << " " << i;
    }
    std::sort(together.begin(), together.end());
    EXPECT_EQ(together, whole) << limit;
  }
  EXPECT_EQ(ChosenImages({.data_images = 100, .limit = 4}), (std::vector<int64_t>{0, 25, 50, 75}));
}

}  // namespace
}  // namespace vitrine
