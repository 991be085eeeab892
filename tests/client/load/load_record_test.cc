// SPDX-License-Identifier: Apache-2.0
#include "client/load/load_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "client/load/answer_check.h"
#include "client/load/load.h"
#include "tests/client/load/made_times.h"

namespace vitrine {
namespace {

TEST(LoadRecord, CountsOnlyRequestsThatWereDueInTheInterval) {
  LoadRecord record(kInterval, 2);
  const auto request = [&](int64_t due, int64_t answered) {
    record.Started(0, due, due);
    record.Answered(0, due, answered, 100 * kMs);
  };
  request(999 * kMs, 1050 * kMs);   // due during the warm-up, answered during the interval
  request(1000 * kMs, 1010 * kMs);  // good
  request(1500 * kMs, 1700 * kMs);  // late
  request(3999 * kMs, 4010 * kMs);  // good, answered after the interval
  request(4000 * kMs, 4010 * kMs);  // due after the interval
  record.Started(1, 2000 * kMs, 2003 * kMs);
  record.Failed(1, 2000 * kMs, 2004 * kMs, 8, "full");
  record.NotSent(1, 2500 * kMs);
  record.Started(1, 3000 * kMs, 3000 * kMs);
  record.Unanswered(1, 3000 * kMs);

  EXPECT_EQ(record.due(), 6u);
  EXPECT_EQ(record.answered(), 3u);
  EXPECT_EQ(record.good(), 2u);
  EXPECT_EQ(record.failed(), 1u);
  EXPECT_EQ(record.not_sent(), 1u);
  EXPECT_EQ(record.unanswered(), 1u);
  EXPECT_EQ(record.due(), record.answered() + record.failed() + record.not_sent() + record.unanswered());
  EXPECT_EQ(record.latency().max(), 200 * kMs);
  EXPECT_EQ(record.slip().max(), 3 * kMs);
  EXPECT_EQ(record.errors().at(8).count, 1u);
  EXPECT_EQ(record.errors().at(8).first_message, "full");
  EXPECT_EQ(record.errors().at(8).latency.max(), 4 * kMs);
  EXPECT_EQ(record.classes()[0].due, 3u);
  EXPECT_EQ(record.classes()[1].due, 3u);
  EXPECT_EQ(record.classes()[1].failed.at(8), 1u);
  EXPECT_EQ(record.classes()[1].not_sent, 1u);
  EXPECT_EQ(record.classes()[1].unanswered, 1u);
  // Three of six due requests were answered, so only the three lowest latencies are known.
  EXPECT_EQ(record.QuantileOfDue(0.5), 200 * kMs);
  EXPECT_EQ(record.QuantileOfDue(0.51), std::nullopt);
  // The rates count the answers that arrived during the interval: at 1010, 1050 and 1700 ms.
  EXPECT_DOUBLE_EQ(record.AnsweredPerSecond(), 1);
  EXPECT_DOUBLE_EQ(record.GoodPerSecond(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(record.DuePerSecond(), 2);
}

TEST(LoadRecord, RatesCoverTheWholeIntervalAndAreZeroForAnEmptyInterval) {
  LoadRecord record({1000 * kMs, 1500 * kMs}, 1);
  record.Started(0, 1000 * kMs, 1000 * kMs);
  record.Answered(0, 1000 * kMs, 1001 * kMs, kMs);
  EXPECT_EQ(record.DuePerSecond(), 2);
  EXPECT_EQ(record.AnsweredPerSecond(), 2);
  EXPECT_EQ(record.GoodPerSecond(), 2) << "an answer exactly at the deadline is in time";
  record.EndAt(1000 * kMs);
  EXPECT_EQ(record.DuePerSecond(), 0);
  EXPECT_EQ(record.AnsweredPerSecond(), 0);
  EXPECT_EQ(record.GoodPerSecond(), 0);
}

TEST(LoadRecord, ManyClassesHaveCoarserLatencies) {
  const auto digits = [](size_t classes) {
    return LoadRecord(kInterval, classes).classes()[0].latency.PercentileTable();
  };
  EXPECT_EQ(digits(1), LatencyHistogram().PercentileTable());
  EXPECT_EQ(digits(32), LatencyHistogram().PercentileTable());
  EXPECT_EQ(digits(33), LatencyHistogram(LatencyHistogram::Precision::kTwoDigits).PercentileTable());
}

TEST(LoadRecord, EventsAreCountedInTheSecondInWhichTheyHappen) {
  LoadRecord record(kInterval, 1);
  record.Started(0, 1100 * kMs, 1100 * kMs);
  record.Answered(0, 1100 * kMs, 2200 * kMs, INT64_MAX);
  record.NotSent(0, 3999 * kMs);
  ASSERT_EQ(record.seconds().size(), 3u);
  EXPECT_EQ(record.seconds()[0].due, 1u);
  EXPECT_EQ(record.seconds()[0].answered, 0u);
  EXPECT_EQ(record.seconds()[1].answered, 1u);
  EXPECT_EQ(record.seconds()[1].latency.max(), 1100 * kMs);
  EXPECT_EQ(record.seconds()[2].not_sent, 1u);
}

TEST(LoadRecord, CollectsTheTimingsOfAnswers) {
  LoadRecord record(kInterval, 1);
  v1::ClassifyResponse answer;
  record.Look(1500 * kMs, 10 * kMs, answer);
  answer.add_predictions();
  answer.mutable_timings()->set_queue(0.002F);
  answer.mutable_timings()->set_total(0.007F);
  answer.mutable_batch()->set_images(3);
  answer.mutable_served_by()->set_model("m");
  answer.mutable_served_by()->set_version(2);
  answer.mutable_served_by()->set_device("cpu");
  answer.mutable_served_by()->set_precision("fp32");
  record.Look(1500 * kMs, 10 * kMs, answer);
  record.Look(10 * kMs, 10 * kMs, answer);  // sent during the warm-up
  EXPECT_EQ(record.looked_at(), 2u);
  EXPECT_NEAR(static_cast<double>(record.stages().queue.max()), 2.0 * kMs, 1e3);
  EXPECT_NEAR(static_cast<double>(record.stages().outside.max()), 3.0 * kMs, 1e3);
  EXPECT_EQ(record.MeanBatchImages(), 3);
  EXPECT_EQ(record.served_by().at("m@2 on cpu, fp32"), 1u);
}

TEST(LoadRecord, InvalidTimesCountAsZero) {
  LoadRecord record(kInterval, 1);
  v1::ClassifyResponse answer;
  answer.mutable_timings()->set_queue(NAN);
  answer.mutable_timings()->set_total(INFINITY);
  record.Look(1500 * kMs, 10 * kMs, answer);
  EXPECT_EQ(record.stages().queue.count(), 1u);
  EXPECT_EQ(record.stages().queue.max(), 0);
  EXPECT_EQ(record.stages().outside.max(), 10 * kMs);
  EXPECT_EQ(record.MeanBatchImages(), 0) << "without batches the mean must be 0";
}

TEST(LoadRecord, RecordsCanBeAdded) {
  LoadRecord a(kInterval, 1), b(kInterval, 1);
  a.Started(0, 1100 * kMs, 1101 * kMs);
  b.Answered(0, 1100 * kMs, 1200 * kMs, 50 * kMs);
  b.Failed(0, 1100 * kMs, 3200 * kMs, 14, "gone");
  b.Refused(7, "no image");
  a.Add(b);
  EXPECT_EQ(a.due(), 1u);
  EXPECT_EQ(a.answered(), 1u);
  EXPECT_EQ(a.good(), 0u);
  EXPECT_EQ(a.errors().at(14).first_message, "gone");
  EXPECT_EQ(a.latency().count(), 1u);
  EXPECT_EQ(a.seconds()[2].failed, 1u);
  EXPECT_EQ(a.classes()[0].failed.at(14), 1u);
  EXPECT_EQ(a.FailureLatency().count(), 1u);
  EXPECT_EQ(a.refused().at(7), "no image");
  for (uint32_t request = 0; request < 2 * kMostRefused; ++request) a.Refused(request, "text");
  EXPECT_EQ(a.refused().size(), kMostRefused);
}

TEST(LoadResult, IsVoidIfTheGeneratorWasLate) {
  LoadResult result{LoadRecord(kInterval, 1)};
  for (int i = 0; i < 985; ++i) result.record.Started(0, 1500 * kMs, 1500 * kMs);
  for (int i = 0; i < 9; ++i) result.record.Started(0, 1500 * kMs, 1502 * kMs);
  EXPECT_EQ(result.VoidReason(), "");  // less than 1 % are late
  for (int i = 0; i < 6; ++i) result.record.Started(0, 1500 * kMs, 1502 * kMs);
  for (int i = 0; i < 1000; ++i) result.record.Answered(0, 1500 * kMs, 1505 * kMs, 100 * kMs);
  EXPECT_NE(result.VoidReason().find("late, by 2.0 ms"), std::string::npos);
  result.generator_seconds = 0.3;
  EXPECT_DOUBLE_EQ(result.GeneratorShare(), 0.1);
  EXPECT_DOUBLE_EQ(result.GeneratorMicrosecondsARequest(), 300);
  EXPECT_NEAR(result.RequestsPerProcessorSecond(), 1000 / 0.3, 1e-6);
}

TEST(LoadResult, FewLateStartsDoNotMakeAResultVoid) {
  LoadResult result{LoadRecord(kInterval, 1)};
  for (int i = 0; i < 30; ++i) result.record.Started(0, 1500 * kMs, 1500 * kMs);
  result.record.Started(0, 1500 * kMs, 1502 * kMs);
  result.record.Started(0, 1500 * kMs, 1502 * kMs);
  EXPECT_EQ(result.VoidReason(), "");
  result.record.Started(0, 1500 * kMs, 1502 * kMs);
  for (int i = 0; i < 33; ++i) result.record.Answered(0, 1500 * kMs, 1505 * kMs, 100 * kMs);
  EXPECT_NE(result.VoidReason(), "");
}

// Returns the result of a hundred requests. Each request is sent 4 ms late and answered 100 ms after its due time.
LoadResult LateBy4Of100Ms() {
  LoadResult result{LoadRecord(kInterval, 1)};
  for (int i = 0; i < 100; ++i) {
    result.record.Started(0, 1500 * kMs, 1504 * kMs);
    result.record.Answered(0, 1500 * kMs, 1600 * kMs, 1000 * kMs);
  }
  return result;
}

TEST(LoadResult, LatenessIsComparedWithTheLatencyOrItsBound) {
  LoadResult result = LateBy4Of100Ms();
  EXPECT_NEAR(result.SlipShare(), 0.04, 1e-4);
  EXPECT_EQ(result.VoidReason(), "") << "4 ms are less than a tenth of the measured p99";
  result.bounds = {{0.99, absl::Milliseconds(200)}};
  EXPECT_EQ(result.VoidReason(), "") << "4 ms are less than a tenth of the bound";
  result.bounds = {{0.99, absl::Milliseconds(200)}, {0.5, absl::Milliseconds(30)}};
  EXPECT_EQ(result.VoidReason(), "the generator itself was late, by 4.0 ms at p50");
}

// The maximum send delay is a tenth of the latency bound (4 ms for 40 ms), but at least 1 ms.
TEST(LoadResult, TheMaximumLatenessIsAccepted) {
  LoadResult result = LateBy4Of100Ms();
  result.bounds = {{0.99, absl::Milliseconds(40)}};
  EXPECT_EQ(result.VoidReason(), "");
  result.bounds = {{0.99, absl::Milliseconds(39)}};
  EXPECT_EQ(result.VoidReason(), "the generator itself was late, by 4.0 ms at p99");
  LoadResult quick{LoadRecord(kInterval, 1)};
  for (int i = 0; i < 3; ++i) {
    quick.record.Started(0, 1500 * kMs, 1501 * kMs);
    quick.record.Answered(0, 1500 * kMs, 1502 * kMs, 1000 * kMs);
  }
  EXPECT_EQ(quick.VoidReason(), "");
  quick.receiver_share = 0.9;
  EXPECT_EQ(quick.VoidReason(), "");
}

TEST(LoadResult, WithoutRequestsAllSharesAreZero) {
  LoadResult result{LoadRecord({kMs, kMs}, 1)};
  result.generator_seconds = result.server_seconds = 1;
  EXPECT_EQ(result.GeneratorShare(), 0);
  EXPECT_EQ(result.ServerShare(), 0);
  EXPECT_EQ(result.GeneratorMicrosecondsARequest(), 0);
  EXPECT_EQ(result.RequestsPerProcessorSecond(), 0);
  EXPECT_EQ(result.SlipShare(), 0);
  result.generator_seconds = 0;
  EXPECT_EQ(result.RequestsPerProcessorSecond(), 0);
  LoadResult slow = LateBy4Of100Ms();
  for (int i = 0; i < 100; ++i) slow.record.Started(0, 1500 * kMs, 2500 * kMs);
  EXPECT_EQ(slow.SlipShare(), 1) << "the share must be at most 1";
}

TEST(LoadResult, LatenessDoesNotMatterWithoutAnswers) {
  LoadResult result{LoadRecord(kInterval, 1)};
  for (int i = 0; i < 100; ++i) {
    result.record.Started(0, 1500 * kMs, 1504 * kMs);
    result.record.Unanswered(0, 1500 * kMs);
  }
  EXPECT_EQ(result.VoidReason(), "");
  EXPECT_EQ(result.SlipShare(), 0);
}

TEST(LoadResult, IsVoidIfAnswersWaitedForTheGenerator) {
  LoadResult result{LoadRecord(kInterval, 1)};
  result.receiver_share = 0.85;
  EXPECT_EQ(result.VoidReason(), "");
  result.receiver_share = 0.97;
  EXPECT_NE(result.VoidReason().find("receiving thread was busy 97 %"), std::string::npos);
}

TEST(KindOfAnswer, DistinguishesAnswersWithAndWithoutPredictions) {
  v1::ClassifyResponse answer;
  EXPECT_EQ(KindOfAnswer(answer.SerializeAsString()), AnswerKind::kWithoutPredictions);
  answer.mutable_timings()->set_total(1);
  answer.mutable_served_by()->set_model("m");
  EXPECT_EQ(KindOfAnswer(answer.SerializeAsString()), AnswerKind::kWithoutPredictions);
  answer.add_predictions()->set_probability(1);
  const std::string bytes = answer.SerializeAsString();
  EXPECT_EQ(KindOfAnswer(bytes), AnswerKind::kWithPredictions);
  EXPECT_EQ(KindOfAnswer(bytes.substr(0, bytes.size() - 1)), AnswerKind::kUnreadable);
  EXPECT_EQ(KindOfAnswer("\xff\xff\xff"), AnswerKind::kUnreadable);
  EXPECT_EQ(KindOfAnswer(std::string(3, '\0')), AnswerKind::kUnreadable);
}

}  // namespace
}  // namespace vitrine
