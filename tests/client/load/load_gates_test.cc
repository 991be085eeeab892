// SPDX-License-Identifier: Apache-2.0
#include "client/load/load_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/load/made_times.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

Gate LoadGate(const char* text) {
  return ParseGate(text, LoadGateMeasures()).value();
}

// Returns a LoadPoint with a hundred requests in three seconds. 88 are answered after 1, 2, ... ms, 10 are rejected,
// one is not sent, and one gets no answer. Answers within 80 ms are in time.
LoadPoint HundredRequests(double offered = 0) {
  LoadPoint point{.offered = offered, .result = {.record = LoadRecord(kInterval, 1)}};
  LoadRecord& record = point.result.record;
  for (int i = 0; i < 98; ++i) {
    const int64_t due = (1000 + 20 * i) * kMs;
    record.Started(0, due, due);
    if (i < 88) {
      record.Answered(0, due, due + (i + 1) * kMs, 80 * kMs);
    } else {
      record.Failed(0, due, due + kMs, 8, "full");
    }
  }
  record.NotSent(0, 2980 * kMs);
  record.Started(0, 2990 * kMs, 2990 * kMs);
  record.Unanswered(0, 2990 * kMs);
  return point;
}

GateResult Judged(const char* text, const LoadReport& report) {
  const Gate gate = LoadGate(text);
  const std::vector<GateResult> results = JudgeLoad({&gate, 1}, report);
  EXPECT_EQ(results.size(), 1u);
  return results[0];
}

TEST(LoadGates, EveryMeasureCoversAllDueRequests) {
  const LoadReport report{.points = {HundredRequests()}};
  const std::pair<const char*, double> kRows[] = {{"p50<=50ms", 0.05}, {"rate>=0", 88.0 / 3}, {"goodput>=0", 80.0 / 3},
                                                  {"good>=0", 0.8},    {"errors<=1", 0.12},   {"refused<=1", 0.1}};
  for (const auto& row : kRows) {
    const GateResult result = Judged(row.first, report);
    ASSERT_TRUE(result.measured.has_value()) << row.first;
    EXPECT_NEAR(*result.measured, row.second, 1e-3 * row.second) << row.first;
  }
  for (const char* text : {"p90<=1h", "p95<=1h", "p99<=1h", "p99.9<=1h", "p999<=1h", "p99.99<=1h"}) {
    const GateResult result = Judged(text, report);
    EXPECT_FALSE(result.measured.has_value())
        << text << ": the value is unknown, because twelve of a hundred requests have no answer";
    EXPECT_FALSE(result.passed()) << text;
    EXPECT_EQ(result.remark, "too many requests have no answer");
  }
}

TEST(LoadGates, PercentilesHaveTheValueOfTheirName) {
  LoadReport report{.points = {{.result = {.record = LoadRecord(kInterval, 1)}}}};
  for (int i = 1; i <= 10000; ++i) {
    report.points[0].result.record.Started(0, 1000 * kMs, 1000 * kMs);
    report.points[0].result.record.Answered(0, 1000 * kMs, 1000 * kMs + i * kMs / 10, 2000 * kMs);
  }
  const std::pair<const char*, double> kRows[] = {{"p50<=1h", 0.5},      {"p90<=1h", 0.9},     {"p95<=1h", 0.95},
                                                  {"p99<=1h", 0.99},     {"p99.9<=1h", 0.999}, {"p999<=1h", 0.999},
                                                  {"p99.99<=1h", 0.9999}};
  for (const auto& row : kRows)
    EXPECT_NEAR(Judged(row.first, report).measured.value_or(0), row.second, 1e-3) << row.first;
}

TEST(LoadGates, TheGatesOfASearchUseItsBestPoint) {
  LoadReport report{.points = {HundredRequests(10), HundredRequests(20), HundredRequests(40)}};
  report.setting.goal = "p50 <= 60 ms";
  report.points[0].missed = "";
  report.points[1].missed = "";
  report.points[2].missed = "p50 is 70 ms";
  report.points[1].result.record = LoadRecord(kInterval, 1);
  report.points[1].result.record.Started(0, 1000 * kMs, 1000 * kMs);
  report.points[1].result.record.Answered(0, 1000 * kMs, 1007 * kMs, kMs);
  report.best = 20;
  EXPECT_NEAR(Judged("p99<=1s", report).measured.value_or(0), 0.007, 1e-5);
  EXPECT_EQ(Judged("rate>=20", report).measured, 20) << "the rate of a search must be its result";
  EXPECT_NEAR(Judged("goodput>=0", report).measured.value_or(0), 0, 1e-9);
  report.best.reset();
  const GateResult none = Judged("p99<=1s", report);
  EXPECT_FALSE(none.passed());
  EXPECT_EQ(none.remark, "no rate met the goal of the search");
}

TEST(LoadGates, AMissedGateOfAVoidPointSaysThatItIsVoid) {
  LoadReport report{.points = {HundredRequests(12)}};
  report.points[0].result.receiver_share = 0.95;
  EXPECT_THAT(Judged("rate>=1000", report).remark, HasSubstr("void: "));
  EXPECT_EQ(Judged("rate>=1", report).remark, "")
      << "a gate that passes needs no remark, because a late generator does not improve results";
}

TEST(LoadGates, WithoutRequestsNoGatePasses) {
  const LoadReport report{.points = {{.result = {.record = LoadRecord(kInterval, 1)}}}};
  for (const char* text : {"rate>=0", "errors<=1", "p50<=1h"}) {
    EXPECT_FALSE(Judged(text, report).passed()) << text;
    EXPECT_EQ(Judged(text, report).remark, "no request was due") << text;
  }
}

}  // namespace
}  // namespace vitrine
