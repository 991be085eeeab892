// SPDX-License-Identifier: Apache-2.0
#include "server/registry/canary_guard.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <optional>

#include "server/process/clock.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kMinute = absl::Minutes(1);

v1::CanaryGuard Guard(const std::string& text) {
  return FromText<v1::CanaryGuard>(text);
}

CanaryEvidence Counted(int64_t answers, int64_t errors) {
  CanaryEvidence evidence;
  evidence.counts = {answers, errors};
  return evidence;
}
CanaryEvidence Drifted(double drift, std::optional<double> tolerance = std::nullopt) {
  CanaryEvidence evidence;
  evidence.drift = drift;
  evidence.tolerance = tolerance;
  return evidence;
}

TEST(CanaryGuard, WatchesCanariesOnly) {
  TrafficTable traffic{.stable = 1, .parts = {{10, 2, 5}, {20, 3, 5}}, .whole = false, .labels = {{"stable", 1}}};
  EXPECT_THAT(Canaries(traffic), ElementsAre(2, 3));
  traffic.labels["canary"] = 4;
  EXPECT_THAT(Canaries(traffic), ElementsAre(2, 3, 4));
  traffic = {.stable = 2, .parts = {{10, 2, 5}}, .whole = false, .labels = {{"canary", 2}, {"stable", 2}}};
  EXPECT_THAT(Canaries(traffic), IsEmpty()) << "the stable version is not watched";
}

TEST(CanaryGuard, TheErrorRateNeedsEnoughAnswers) {
  const v1::CanaryGuard guard = Guard("max_error_rate: 0.05 min_requests: 40");
  EXPECT_FALSE(JudgeCanary(guard, Counted(39, 39)).has_value());
  EXPECT_FALSE(JudgeCanary(guard, Counted(40, 2)).has_value()) << "a rate of 5 % is allowed";
  const auto verdict = JudgeCanary(guard, Counted(40, 3));
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->cause, RollbackCause::kErrorRate);
  EXPECT_EQ(verdict->reason, "3 of its last 40 answers were errors, 7.5 %; the bound is 5.0 %");
  EXPECT_FALSE(JudgeCanary(Guard("max_error_rate: 0.05"), Counted(99, 99)).has_value())
      << "min_requests is 100 by default";
  EXPECT_TRUE(JudgeCanary(Guard("max_error_rate: 0"), Counted(100, 1)).has_value());
  EXPECT_FALSE(JudgeCanary(Guard("max_error_rate: 1"), Counted(1000, 1000)).has_value())
      << "a bound of 1 means no check";
  EXPECT_FALSE(JudgeCanary(Guard(""), Counted(100, 2)).has_value()) << "the bound is 2 % by default";
  EXPECT_TRUE(JudgeCanary(Guard(""), Counted(100, 3)).has_value());
}

TEST(CanaryGuard, TheGoldenDriftMustBeWithinItsBound) {
  const v1::CanaryGuard guard = Guard("max_golden_drift: 0.001");
  EXPECT_FALSE(JudgeCanary(guard, {}).has_value());
  EXPECT_FALSE(JudgeCanary(guard, Drifted(0.001)).has_value());
  for (const double drift : {0.0011, std::numeric_limits<double>::infinity(), std::nan("")}) {
    const auto verdict = JudgeCanary(guard, Drifted(drift));
    ASSERT_TRUE(verdict.has_value()) << drift;
    EXPECT_EQ(verdict->cause, RollbackCause::kGoldenDrift);
    EXPECT_THAT(verdict->reason, HasSubstr("the bound is 0.001"));
  }
  EXPECT_FALSE(JudgeCanary(Guard(""), Drifted(5.0)).has_value()) << "the manifest has no tolerance";
  EXPECT_FALSE(JudgeCanary(Guard(""), Drifted(0.01, 0.05)).has_value());
  EXPECT_TRUE(JudgeCanary(Guard(""), Drifted(0.06, 0.05)).has_value())
      << "the bound is the manifest's tolerance by default";
}

TEST(CanaryGuard, TheComputeTimeIsComparedWithTheStableVersion) {
  const auto judge = [](const std::string& guard, const ComputeComparison& compared) {
    CanaryEvidence evidence;
    evidence.compute = compared;
    return JudgeCanary(Guard(guard), evidence);
  };
  EXPECT_FALSE(judge("", {99, 10}).has_value()) << "99 images are too few to compare";
  EXPECT_FALSE(judge("", {100, 2}).has_value()) << "a ratio of 2 is allowed by default";
  EXPECT_TRUE(judge("", {100, 2.01}).has_value());
  EXPECT_FALSE(judge("max_compute_ratio: 0", {1000, 50}).has_value()) << "a bound of 0 means no check";
  EXPECT_FALSE(judge("max_compute_ratio: 1.5", {0, 0}).has_value());
  const auto verdict = judge("max_compute_ratio: 1.5 min_requests: 20", {20, 1.6});
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->cause, RollbackCause::kSlow);
  EXPECT_EQ(verdict->reason,
            "it needs 1.60 times the stable version's compute time per image, over 20 images in batches of "
            "equal sizes; the bound is 1.50");
}

TEST(CanaryGuard, ACanaryMustHaveTheSameClasses) {
  CanaryEvidence evidence;
  evidence.other_classes = "its class 0 is 'cat' instead of 'dog'";
  const auto verdict = JudgeCanary(Guard(""), evidence);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->cause, RollbackCause::kLabels);
  EXPECT_THAT(verdict->reason, HasSubstr("its class 0 is 'cat' instead of 'dog' compared with the stable version"));
  EXPECT_FALSE(JudgeCanary(Guard("allow_other_labels: true"), evidence).has_value());
}

TEST(CanaryGuard, DifferencesOfAnswersMustBeSignificant) {
  const auto judge = [](const std::string& guard, const AnswerComparison& answers) {
    CanaryEvidence evidence;
    evidence.answers = answers;
    return JudgeCanary(Guard(guard), evidence);
  };
  EXPECT_FALSE(judge("", {.images = 99, .confidence = {-0.7, 0.01}, .unsure = {}, .classes = {}}).has_value())
      << "99 images are too few to compare";
  EXPECT_FALSE(judge("", {.images = 100, .confidence = {-0.29, 0.025}, .unsure = {}, .classes = {}}).has_value());
  const auto verdict = judge("", {.images = 100, .confidence = {-0.31, 0.025}, .unsure = {}, .classes = {}});
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->cause, RollbackCause::kAnswers);
  EXPECT_EQ(verdict->reason,
            "its mean confidence differs from the stable version's by -0.31 +- 0.03 over 100 of its answers; the bound "
            "is 0.20");
  EXPECT_TRUE(judge("", {.images = 100, .confidence = {}, .unsure = {0.4, 0.04}, .classes = {}}).has_value());
  EXPECT_TRUE(judge("", {.images = 100, .confidence = {}, .unsure = {}, .classes = {0.45, 0.03}}).has_value());
  EXPECT_FALSE(
      judge("max_class_difference: 1", {.images = 100, .confidence = {}, .unsure = {}, .classes = {1, 0}}).has_value())
      << "a bound of 1 means no check";
}

TEST(CanaryGuard, DifferencesOfPairedAnswersMustBeSignificant) {
  const auto judge = [](const PairCounts& paired) {
    CanaryEvidence evidence;
    evidence.paired = paired;
    return JudgeCanary(Guard(""), evidence);
  };
  EXPECT_FALSE(judge({16, 16}).has_value());
  EXPECT_TRUE(judge({17, 17}).has_value()) << "every class differs";
  EXPECT_TRUE(judge({40, 36}).has_value()) << "random weights agree on a tenth of the images by chance";
  EXPECT_FALSE(judge({60, 30}).has_value());
}

TEST(CanaryGuard, DescribesTheGuard) {
  EXPECT_THAT(DescribeGuard(Guard("")), HasSubstr("puts it away for other class labels, more than 2 % errors"));
  EXPECT_THAT(DescribeGuard(Guard("off: true")), HasSubstr("no guard watches it"));
}

TEST(OutcomeWindow, ALongWindowKeepsFewValuesAndDropsOldOnes) {
  FakeClock clock;
  OutcomeWindow window;
  const absl::Duration day = absl::Hours(24);
  for (int second = 0; second <= 3 * 86400; ++second) {
    window.Add(clock.Now(), {second, 0}, day);
    clock.Advance(absl::Seconds(1));
  }
  EXPECT_NEAR(static_cast<double>(window.InWindow().answers), 86400, 86400 / 300.0 + 1);
}

TEST(OutcomeWindow, DropsCountsThatAreOlderThanTheWindow) {
  FakeClock clock;
  OutcomeWindow window;
  EXPECT_EQ(window.InWindow().answers, 0);
  window.Add(clock.Now(), {1000, 500}, kMinute);
  EXPECT_EQ(window.InWindow().answers, 0) << "counts before the first sample are not in the window";
  for (int second = 1; second <= 60; ++second) {
    clock.Advance(absl::Seconds(1));
    window.Add(clock.Now(), {1000 + 10 * second, 500 + second}, kMinute);
  }
  EXPECT_EQ(window.InWindow().answers, 600);
  EXPECT_EQ(window.InWindow().errors, 60);
  for (int second = 61; second <= 90; ++second) {
    clock.Advance(absl::Seconds(1));
    window.Add(clock.Now(), {1600, 560}, kMinute);
  }
  EXPECT_EQ(window.InWindow().answers, 300) << "there were no answers in half of the window";
  clock.Advance(absl::Hours(1));
  window.Add(clock.Now(), {1600, 560}, kMinute);
  EXPECT_EQ(window.InWindow().answers, 0);
}

TEST(CanaryGuard, WindowAndIntervalAreAMinuteByDefault) {
  EXPECT_EQ(WindowOf(Guard("")), kMinute);
  EXPECT_EQ(GoldenIntervalOf(Guard("")), kMinute);
  EXPECT_EQ(WindowOf(Guard("window_seconds: 2.5")), absl::Milliseconds(2500));
  EXPECT_EQ(GoldenIntervalOf(Guard("golden_interval_seconds: 5")), absl::Seconds(5));
}

}  // namespace
}  // namespace vitrine
