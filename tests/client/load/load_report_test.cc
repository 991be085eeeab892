// SPDX-License-Identifier: Apache-2.0
// Tests reports of a constructed load with known numbers.
#include "client/load/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/client/load/made_times.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

constexpr int kResourceExhausted = 8;

// Records three seconds with two classes. Requests of the first class are answered after 10, 20, ... ms. If a request
// is due at 2 s or later, its answer takes 100 ms more. Requests of the second class are rejected, not sent or not
// answered. `next` returns the record for the next event.
void Fill(const std::function<LoadRecord&()>& next, int requests) {
  v1::ClassifyResponse answer;
  answer.add_predictions();
  answer.mutable_served_by()->set_model("<kv>");
  answer.mutable_served_by()->set_version(2);
  answer.mutable_served_by()->set_device("cpu");
  answer.mutable_served_by()->set_precision("fp32");
  for (int i = 0; i < requests; ++i) {
    const int64_t due = (1000 + 3000 / requests * i) * kMs;
    const int64_t latency = (10 * (i % 10 + 1) + (due >= 2000 * kMs ? 100 : 0)) * kMs;
    next().Started(0, due, due + (i % 3) * 100'000);
    next().Answered(0, due, due + latency, 150 * kMs);
    if (i % 5 != 0) continue;
    v1::Timings& timings = *answer.mutable_timings();
    timings.set_queue(0.001F * static_cast<float>(i + 1));
    timings.set_decode(0.002F);
    timings.set_compute(0.003F);
    timings.set_encode(0.0005F);
    timings.set_total(0.006F + 0.001F * static_cast<float>(i));
    answer.mutable_batch()->set_images(1 + i / 10);
    answer.mutable_served_by()->set_version(i < 20 ? 2 : 3);
    next().Look(due, latency, answer);
  }
  for (int i = 0; i < 4; ++i) {
    const int64_t due = (1100 + 700 * i) * kMs;
    next().Started(1, due, due);
    if (i < 2) next().Failed(1, due, due + (2 + i) * kMs, kResourceExhausted, "full <of> work");
    if (i == 2) next().Failed(1, due, due + 7 * kMs, kWithoutPredictions, "the answer holds no prediction");
    if (i == 3) next().Unanswered(1, due);
  }
  next().NotSent(1, 1500 * kMs);
  next().NotSent(1, 2500 * kMs);
}

LoadRecord MadeRecord(int requests = 30) {
  LoadRecord record(kInterval, 2);
  Fill([&]() -> LoadRecord& { return record; }, requests);
  return record;
}

LoadPoint MadePoint(double offered, int requests = 30) {
  return {.offered = offered,
          .result = {.record = MadeRecord(requests),
                     .generator_seconds = 0.3,
                     .server_seconds = 2.25,
                     .receiver_share = 0.125},
          .stability = {.verdict = Stability::Verdict::kNotStable, .reason = "p50 rises"}};
}

LoadReport MadeReport() {
  return {.setting = {.server = "here:1",
                      .loop = "open loop, Poisson arrivals",
                      .load = "model <kv>, 12 images",
                      .started = "2030-01-01T00:00:00Z",
                      .classes = {"<kv> within 150ms", "busy"},
                      .connections = 3,
                      .threads = 2,
                      .warm_up_seconds = 1,
                      .server_process = 77},
          .points = {MadePoint(12)}};
}

// Returns the report of a rate search with four measured rates, which are not sorted: one missed the goal, one met it,
// one was interrupted, and one is void because of a busy receiver.
LoadReport MadeSearch() {
  LoadReport report = MadeReport();
  report.setting.goal = "p99 <= 50 ms";
  report.verdict = "The highest rate is 10/s.";
  report.best = 10;
  report.points = {MadePoint(20, 60), MadePoint(10), MadePoint(40, 10), MadePoint(30)};
  report.points[0].missed = "p99 is 200 ms";
  report.points[1].missed = "";
  report.points[1].stability = {.verdict = Stability::Verdict::kStable};
  report.points[2].result.interrupted = true;
  report.points[3].result.receiver_share = 0.95;
  return report;
}

TEST(LoadReport, TextsOfOnePointEqualTheStoredFiles) {
  LoadReport report = MadeReport();
  ExpectStored("load_point.txt", PointText(report.setting, report.points[0]));
  ExpectStored("load_point_page.txt", Reading(LoadPage(report)));
  ExpectStored("load_point.csv", TimelineCsv(report.points[0]));
}

TEST(LoadReport, JsonOfOnePointEqualsTheStoredFile) {
  ExpectStored("load_point.json", ReportJson(MadeReport()).dump(1) + "\n");
}

TEST(LoadReport, TextsOfSeveralPointsEqualTheStoredFiles) {
  ExpectStored("load_search.txt", PointsTable(MadeSearch()));
  ExpectStored("load_search_page.txt", Reading(LoadPage(MadeSearch())));
}

TEST(LoadReport, JsonOfSeveralPointsEqualsTheStoredFile) {
  nlohmann::ordered_json json = ReportJson(MadeSearch());
  for (nlohmann::ordered_json& point : json["points"]) {
    for (const char* told_by_one_point : {"timeline", "classes", "server", "errors"}) point.erase(told_by_one_point);
  }
  ExpectStored("load_search.json", json.dump(1) + "\n");
}

TEST(LoadReport, AMetGoalIsValidEvenWithALateGenerator) {
  LoadPoint point = MadePoint(10);
  point.result.receiver_share = 0.95;
  EXPECT_THAT(InvalidReason(point), testing::HasSubstr("receiving thread was busy"));
  point.missed = "p99 is 200 ms";
  EXPECT_THAT(PointVerdict(point), testing::StartsWith("void: "));
  point.missed = "";
  EXPECT_EQ(InvalidReason(point), "");
  EXPECT_EQ(PointVerdict(point), "met, not stable");
}

// During three seconds, 200 requests per second are due, but only 91 per second are answered. The other requests are
// answered after these three seconds, but within their deadline of 30 s.
TEST(LoadReport, IncreasingLatencyIsAnOverload) {
  LoadPoint point{.offered = 200, .result = {.record = LoadRecord(kInterval, 1)}};
  for (int i = 0; i < 600; ++i) {
    const int64_t due = (1000 + 5 * i) * kMs;
    point.result.record.Started(0, due, due);
    point.result.record.Answered(0, due, (1000 + 11 * i) * kMs + kMs, 30'000 * kMs);
  }
  const std::string text = PointText({.classes = {"m"}}, point);
  EXPECT_THAT(text,
              testing::HasSubstr("goodput           91.0/s  100.00 % within their deadline\n"
                                 "OVERLOAD    only 91.0/s were answered: the queue grows, and latency with it for "
                                 "as long as the load lasts\n"));
  EXPECT_EQ(Overload({.classes = {"m"}, .closed = true}, point), "");
}

// Two hundred requests are due at the same time. Request i is sent i ms late and answered 2 i ms after it was due.
TEST(LoadReport, EachSecondHasItsOwnQuantiles) {
  LoadReport report = MadeReport();
  LoadRecord record(kInterval, 1);
  for (int64_t i = 1; i <= 200; ++i) {
    record.Started(0, 1000 * kMs, (1000 + i) * kMs);
    record.Answered(0, 1000 * kMs, (1000 + 2 * i) * kMs, 30'000 * kMs);
  }
  report.points[0].result.record = record;
  const nlohmann::ordered_json second = ReportJson(report)["points"][0]["timeline"][0];
  EXPECT_EQ(second["due"], 200);
  const auto expect_near = [&](const char* name, double expected) {
    EXPECT_NEAR(second[name].get<double>(), expected, expected * 0.01)
        << name;  // tolerance: the bucket width of the histogram
  };
  expect_near("p50_ms", 200);
  expect_near("p99_ms", 396);
  expect_near("max_ms", 400);
  expect_near("slip_p99_ms", 198);
}

// Each thread of a load has its own record. The sum of these records must equal a single record of all requests.
TEST(LoadReport, TheSumOfSeveralRecordsEqualsOneRecord) {
  LoadReport one = MadeReport(), several = MadeReport();
  LoadRecord parts[] = {LoadRecord(kInterval, 2), LoadRecord(kInterval, 2), LoadRecord(kInterval, 2)};
  int turn = 0;
  Fill([&]() -> LoadRecord& { return parts[turn++ % 3]; }, 30);
  LoadRecord sum(kInterval, 2);
  for (const LoadRecord& part : parts) sum.Add(part);
  several.points[0].result.record = sum;
  EXPECT_EQ(ReportJson(several).dump(1), ReportJson(one).dump(1));
}

// Missing values must not be printed, and must not cause a division by zero.
TEST(LoadReport, MissingValuesAreNotPrinted) {
  LoadReport report = MadeReport();
  report.setting.closed = true;
  report.setting.server_process = 0;
  report.setting.classes = {"one"};
  report.points[0] = {.result = {.record = LoadRecord(kInterval, 1)}};
  report.points[0].stability.reason = "less than 3 s";
  ExpectStored("load_empty.txt", PointText(report.setting, report.points[0]));
  ExpectStored("load_empty.json", ReportJson(report).dump(1) + "\n");
}

}  // namespace
}  // namespace vitrine
