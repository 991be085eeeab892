// SPDX-License-Identifier: Apache-2.0
#include "server/observe/metrics.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "server/observe/process_stats.h"
#include "server/process/shed.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kBounds[] = {1, 2, 4};

TEST(Histogram, CountsInclusiveUpperBounds) {
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 4.0, 4.1, 100.0}) histogram.Observe(value);
  HistogramTotals totals = histogram.Totals();
  EXPECT_THAT(totals.counts, ElementsAre(2, 1, 1, 2));
  EXPECT_DOUBLE_EQ(totals.sum, 111.1);
  histogram.AddTo(totals);
  EXPECT_THAT(totals.counts, ElementsAre(4, 2, 2, 4));
  EXPECT_DOUBLE_EQ(totals.sum, 222.2);
}

TEST(Histogram, CountsValuesOfSeveralThreadsDuringReads) {
  Histogram histogram(kBounds);
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&] {
      for (int i = 0; i < 30'000; ++i) histogram.Observe(i % 3 == 0 ? 1 : 3);
    });
  }
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const HistogramTotals totals = histogram.Totals();
    const uint64_t count = totals.counts[0] + totals.counts[1] + totals.counts[2] + totals.counts[3];
    EXPECT_GE(count, last) << "a histogram never goes back";
    last = count;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(histogram.Totals().counts, ElementsAre(30'000, 0, 60'000, 0));
  EXPECT_DOUBLE_EQ(histogram.Totals().sum, 30'000 + 3 * 60'000);
}

absl::Status Shed(ShedReason reason) {
  return ShedError(reason, "full", absl::ZeroDuration());
}

TEST(ShedReasons, AreReadBackFromAStatus) {
  for (int reason = 0; reason < kShedReasons; ++reason) {
    EXPECT_EQ(ShedReasonOf(Shed(static_cast<ShedReason>(reason))), static_cast<ShedReason>(reason));
  }
  EXPECT_EQ(ShedReasonOf(absl::ResourceExhaustedError("too large")), std::nullopt);
}

TEST(Metrics, RejectedRequestsAreCountedByReasonAndStage) {
  Metrics metrics("");
  const auto model = metrics.ForModel("m");
  model->requests().Count(Method::kClassify, Shed(ShedReason::kQuota), absl::ZeroDuration());
  model->requests().Count(Method::kClassify, Shed(ShedReason::kMemory), absl::ZeroDuration());
  model->requests().Count(Method::kClassify, absl::ResourceExhaustedError("a message too large"), absl::ZeroDuration());
  model->CountExpired(Progress::kAdmission);
  model->CountExpired(Progress::kCompute);
  model->CountCancelled(Progress::kQueue);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("vitrine_requests_shed_total{model=\"m\",reason=\"quota\"} 1"));
  EXPECT_THAT(text, HasSubstr("vitrine_requests_shed_total{model=\"m\",reason=\"requests\"} 0"));
  EXPECT_THAT(text, HasSubstr("vitrine_out_of_memory_total 1"));
  EXPECT_THAT(text, HasSubstr("vitrine_requests_expired_total{model=\"m\",stage=\"admission\"} 1"));
  EXPECT_THAT(text, HasSubstr("vitrine_requests_expired_total{model=\"m\",stage=\"queue\"} 0"));
  EXPECT_THAT(text, HasSubstr("vitrine_requests_expired_total{model=\"m\",stage=\"compute\"} 1"));
  EXPECT_THAT(text, HasSubstr("vitrine_requests_cancelled_total{model=\"m\",stage=\"queue\"} 1"));
  EXPECT_EQ(model->Requests().All(), 3);
  EXPECT_EQ(model->Requests().Errors(), 3);
  EXPECT_EQ(model->Requests().Shed(), 2);
}

TEST(ProcessStats, DescribeThisProcess) {
  const ProcessStats before = ReadProcessStats();
  EXPECT_GT(before.resident_bytes, 1e6);
  EXPECT_GE(before.threads, 1);
  EXPECT_GT(before.start_seconds, 1.5e9);
  FILE* file = fopen("/dev/null", "r");
  EXPECT_EQ(ReadProcessStats().open_files, before.open_files + 1);
  fclose(file);
}

}  // namespace
}  // namespace vitrine
