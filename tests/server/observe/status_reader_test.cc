// SPDX-License-Identifier: Apache-2.0
#include "server/pages/status_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "server/process/shed.h"
#include "server/registry/version/version_status.h"

namespace vitrine {
namespace {

using ::testing::DoubleEq;

// Returns the sources of a healthy server without versions.
StatusReader::Sources Well() {
  return {.not_ready = [] { return ""; },
          .repository = [] { return absl::OkStatus(); },
          .versions = [] { return std::vector<VersionStatus>(); },
          .version = "",
          .revision = "",
          .compute = {},
          .flags = {}};
}

TEST(StatusReader, CombinesTheStatusOfTheParts) {
  FakeClock clock;
  Metrics metrics("1.2.3");
  std::vector<VersionStatus> versions(2);
  versions[0].id = {"m", 1};
  versions[0].state = v1::READY;
  versions[0].traffic_percent = 90;
  versions[0].labels = {"stable"};
  versions[1].id = {"m", 2};
  versions[1].state = v1::FAILED;
  versions[1].reason = "cut";
  absl::Duration busy;
  metrics.SetSources(
      {.queue =
           [] {
             return QueueStatus{3, 0, 0, absl::ZeroDuration()};
           },
       .admission =
           [] {
             return AdmissionStatus{
                 .requests = 21, .bytes = 22, .work = absl::Seconds(2.5), .limit_requests = 23, .limit_bytes = 24};
           },
       .answers = [] { return AnswerStatus{.bytes = 31, .limit = 32}; },
       .executors =
           [&] {
             return std::vector<ExecutorStatus>{{busy, 1, absl::Seconds(2)}};
           },
       .machine = [] { return MachineLimits{.cores = 3.5, .memory_bytes = 51}; },
       .rejected_settings = [] { return std::vector<std::string>{"--policy p is empty"}; },
       .certificates =
           [] {
             return std::vector<std::pair<std::string, absl::Time>>{{"grpc", absl::FromUnixSeconds(81)}};
           }});
  const auto model = metrics.ForModel("m");
  const auto version = metrics.ForModel("m")->ForVersion(1);
  for (int cause = 0; cause < kRollbackCauses; ++cause) {
    for (int times = 0; times < 1 << cause; ++times) model->CountRollback(static_cast<RollbackCause>(cause));
  }
  StatusReader reader(metrics,
                      {.not_ready = [] { return "warming up"; },
                       .repository = [] { return absl::NotFoundError("gone"); },
                       .versions = [&] { return versions; },
                       .version = "1.2.3",
                       .revision = "abc",
                       .compute = {.device = "cpu", .cpu = "a CPU", .path = "avx2", .precision = "fp32"},
                       .flags = {{"--listen", "x"}}},
                      clock);
  reader.Sample();
  for (int i = 0; i < 20; ++i) {
    for (RequestCounts* counts : {&model->requests(), &version->requests()}) {
      counts->Count(Method::kClassify, i < 15 ? absl::OkStatus() : absl::InternalError(""), absl::Milliseconds(1));
    }
  }
  const absl::Status shed = ShedError(ShedReason::kBytes, "full", absl::ZeroDuration());
  model->requests().Count(Method::kClassify, shed, absl::ZeroDuration());
  busy += absl::Seconds(5);
  clock.Advance(absl::Seconds(10));
  reader.Sample();

  const ServerStatus status = reader.Read();
  EXPECT_EQ(status.not_ready, "warming up");
  EXPECT_EQ(status.repository_fault, "gone");
  EXPECT_EQ(status.revision, "abc");
  EXPECT_EQ(status.compute.path, "avx2");
  EXPECT_EQ(status.queue.requests, 3);
  ASSERT_EQ(status.models.size(), 1U);
  EXPECT_THAT(status.models[0].requests_per_second, DoubleEq(2.1));
  EXPECT_THAT(status.models[0].shed_per_second, DoubleEq(0.1));
  EXPECT_EQ(status.models[0].rollbacks, 31U);
  EXPECT_EQ(status.models[0].operator_rollbacks, 32U);
  EXPECT_EQ(status.models[0].rollbacks_per_second, 0) << "they were before the minute";
  EXPECT_EQ(status.admission.requests, 21);
  EXPECT_EQ(status.answers.bytes, 31);
  EXPECT_EQ(status.machine.cores, 3.5);
  EXPECT_EQ(status.rejected_settings, std::vector<std::string>{"--policy p is empty"});
  ASSERT_EQ(status.certificates.size(), 1U);
  EXPECT_EQ(status.certificates[0].first, "grpc");
  EXPECT_EQ(status.version, "1.2.3");
  EXPECT_EQ(status.flags.size(), 1U);
  ASSERT_EQ(status.versions.size(), 2U);
  EXPECT_THAT(status.versions[0].requests_per_second, DoubleEq(2));
  EXPECT_THAT(status.versions[0].errors_per_second, DoubleEq(0.5));
  EXPECT_THAT(status.versions[0].faults_per_second, DoubleEq(0.5));
  EXPECT_EQ(status.versions[0].labels, std::vector<std::string>{"stable"});
  EXPECT_EQ(status.versions[1].state, "FAILED");
  EXPECT_EQ(status.versions[1].reason, "cut");
  ASSERT_EQ(status.executors.size(), 1U);
  EXPECT_THAT(status.executors[0].busy_ratio, DoubleEq(0.5));
  EXPECT_EQ(status.executors[0].batch_age, absl::Seconds(2));
}

// One executor is busy for half of the time and the other executor all the time; then both are idle. The ratio measures
// only busy time, so waiting or rejected requests do not change the ratio.
TEST(StatusReader, BusyRatioIsTheMeanOfTheLastMinute) {
  FakeClock clock;
  Metrics metrics("1.2.3");
  std::vector<ExecutorStatus> executors(2);
  metrics.SetSources({.executors = [&] { return executors; }});
  StatusReader reader(metrics, Well(), clock);
  EXPECT_EQ(reader.ExecutorsBusyRatio(), 0) << "of a server that has just begun";
  reader.Sample();
  const auto pass = [&](absl::Duration first, absl::Duration second) {
    executors[0].busy += first;
    executors[1].busy += second;
    clock.Advance(absl::Seconds(30));
    reader.Sample();
  };
  pass(absl::Seconds(15), absl::Seconds(30));
  EXPECT_THAT(reader.ExecutorsBusyRatio(), DoubleEq(0.75));
  pass(absl::Seconds(0), absl::Seconds(0));
  EXPECT_THAT(reader.ExecutorsBusyRatio(), DoubleEq(0.375));
  pass(absl::Seconds(0), absl::Seconds(0));
  EXPECT_EQ(reader.ExecutorsBusyRatio(), 0) << "what lies more than a minute back still counts";
}

TEST(StatusReader, BusyRatioIsZeroWithoutExecutors) {
  FakeClock clock;
  Metrics metrics("1.2.3");
  StatusReader reader(metrics, Well(), clock);
  EXPECT_EQ(reader.ExecutorsBusyRatio(), 0);
}

TEST(RateWindow, IsTheIncreaseOverTheLastMinute) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  EXPECT_EQ(window.PerSecond("a"), 0);
  double total = 0;
  // The counter rises by ten per second for two minutes, then stays.
  for (int second = 0; second <= 120; second += 2) {
    window.Sample(clock.Now(), {{"a", total}});
    total += 20;
    clock.Advance(absl::Seconds(2));
  }
  total -= 20;
  EXPECT_NEAR(window.PerSecond("a"), 10, 1e-9);
  for (int second = 0; second < 30; second += 2) {
    window.Sample(clock.Now(), {{"a", total}});
    clock.Advance(absl::Seconds(2));
  }
  EXPECT_NEAR(window.PerSecond("a"), 5, 0.4) << "half of the minute was silent";
  for (int second = 0; second < 60; second += 2) {
    window.Sample(clock.Now(), {{"a", total}});
    clock.Advance(absl::Seconds(2));
  }
  EXPECT_EQ(window.PerSecond("a"), 0);
}

TEST(RateWindow, StartsAtTheFirstSample) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  window.Sample(clock.Now(), {{"a", 100}});
  EXPECT_EQ(window.PerSecond("a"), 0) << "one sample is no rate";
  clock.Advance(absl::Seconds(4));
  window.Sample(clock.Now(), {{"a", 108}});
  EXPECT_DOUBLE_EQ(window.PerSecond("a"), 2) << "not over a minute that has not passed";
}

TEST(RateWindow, ExcludesSamplesOlderThanTheWindow) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  for (const double total : {0.0, 60.0, 60.0}) {
    window.Sample(clock.Now(), {{"a", total}});
    clock.Advance(absl::Minutes(1));
  }
  EXPECT_EQ(window.PerSecond("a"), 0) << "what rose before the last minute";
}

TEST(RateWindow, HandlesNewRemovedAndResetCounters) {
  FakeClock clock;
  RateWindow window(absl::Minutes(1));
  window.Sample(clock.Now(), {{"gone", 5}, {"anew", 1000}});
  clock.Advance(absl::Seconds(10));
  window.Sample(clock.Now(), {{"new", 30}, {"anew", 10}});
  EXPECT_DOUBLE_EQ(window.PerSecond("new"), 3);
  EXPECT_EQ(window.PerSecond("gone"), 0);
  EXPECT_DOUBLE_EQ(window.PerSecond("anew"), 1) << "ten since it began at 0 again";
  clock.Advance(absl::Seconds(10));
  window.Sample(clock.Now(), {{"new", 30}, {"anew", 50}});
  EXPECT_DOUBLE_EQ(window.PerSecond("anew"), 2.5) << "what came before the reload is no reason for a window of zeros";
  EXPECT_EQ(window.PerSecond("never"), 0);
}

}  // namespace
}  // namespace vitrine
