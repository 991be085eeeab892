// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/traffic.h"

#include <gmock/gmock.h>

#include <cmath>

#include "server/registry/settings/serving_rules.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TrafficTable Table(const std::string& serving, const std::set<int64_t>& ready, const std::string& changed = "") {
  ModelPlan plan;
  plan.changed = FromText<v1::ModelOverride>(changed);
  plan.serving = MergeServing(FromText<v1::ModelServing>(serving), plan.changed);
  return MakeTrafficTable(plan, ready);
}

constexpr char kTwoShares[] =
    "labels { label: 'stable' version: 1 } traffic { version: 2 percent: 5 } traffic { version: 3 percent: 20.5 }";

TEST(Traffic, WithoutSettingsTheNewestVersionServes) {
  const TrafficTable table = Table("", {1, 2, 7});
  EXPECT_EQ(table.stable, 7);
  EXPECT_EQ(table.Choose(0), 7);
  EXPECT_EQ(table.Choose(UINT64_MAX), 7);
  EXPECT_THAT(table.labels, ElementsAre(Pair("stable", 7)));
  EXPECT_EQ(table.PercentOf(7), 100);
  EXPECT_EQ(table.PercentOf(2), 0);
  EXPECT_EQ(Table("", {}).stable, 0);
  EXPECT_THAT(Table("", {}).labels, IsEmpty());
}

TEST(Traffic, ACanaryIsNotStable) {
  const TrafficTable table = Table("traffic { version: 3 percent: 5 }", {1, 2, 3});
  EXPECT_EQ(table.stable, 2);
  EXPECT_THAT(table.labels, ElementsAre(Pair("canary", 3), Pair("stable", 2)));
  EXPECT_EQ(table.PercentOf(3), 5);
  EXPECT_EQ(table.PercentOf(2), 95);
  EXPECT_EQ(Table("traffic { version: 3 percent: 5 }", {3}).stable, 3) << "version 3 is the only one";
  EXPECT_THAT(Table("labels { label: 'canary' version: 3 }", {1, 2, 3}).labels,
              ElementsAre(Pair("canary", 3), Pair("stable", 2)))
      << "the label alone makes it a canary";
}

TEST(Traffic, LabelsAreOnlyForReadyVersions) {
  const std::string labels = "labels { label: 'stable' version: 1 } labels { label: 'eu-west_2' version: 2 }";
  EXPECT_THAT(Table(labels, {1, 2, 3}).labels, ElementsAre(Pair("eu-west_2", 2), Pair("stable", 1)));
  const TrafficTable without = Table(labels, {2, 3});
  EXPECT_EQ(without.stable, 3) << "the version labelled stable is not ready, so the newest serves";
  EXPECT_THAT(without.labels, ElementsAre(Pair("eu-west_2", 2))) << "a request with the label stable is refused";
  EXPECT_THAT(Table("labels { label: 'canary' version: 9 } traffic { version: 2 percent: 5 }", {1, 2}).labels,
              ElementsAre(Pair("stable", 1)))
      << "the label canary belongs to version 9 only";
}

TEST(Traffic, TheStableVersionServesUntilTheLabelledOneIsLoaded) {
  ModelPlan plan;
  plan.serving = FromText<v1::ModelServing>("labels { label: 'stable' version: 1 }");
  const TrafficTable none, labelled = Table("", {3}), unlabelled{.stable = 3, .parts = {}, .labels = {}};
  EXPECT_EQ(MakeTrafficTable(plan, {4}, {}, &none).stable, 0) << "no version has served yet";
  const TrafficTable held = MakeTrafficTable(plan, {3, 4}, {}, &labelled);
  EXPECT_EQ(held.stable, 3);
  EXPECT_THAT(held.labels, ElementsAre(Pair("stable", 3)));
  EXPECT_THAT(MakeTrafficTable(plan, {3, 4}, {}, &unlabelled).labels, IsEmpty());
  EXPECT_EQ(MakeTrafficTable(plan, {1, 3, 4}, {}, &labelled).stable, 1);
  EXPECT_EQ(MakeTrafficTable(plan, {4}, {}, &labelled).stable, 4) << "version 3 is not ready any more";
  plan.changed = FromText<v1::ModelOverride>("put_away { version: 3 }");
  EXPECT_EQ(MakeTrafficTable(plan, {3, 4}, {}, &labelled).stable, 4);
}

TEST(Traffic, VersionsThatAreNotReadyOrPutAwayHaveNoShare) {
  EXPECT_EQ(Table(kTwoShares, {1, 3}).Choose(0), 3);
  const TrafficTable away = Table(kTwoShares, {1, 2, 3}, "put_away { version: 2 }");
  EXPECT_EQ(away.Choose(0), 3);
  EXPECT_EQ(away.PercentOf(1), 79.5);
  EXPECT_EQ(Table("", {1, 2}, "put_away { version: 2 }").stable, 1);
}

TEST(Traffic, RequestsWithoutAnIdAreDividedExactly) {
  const TrafficTable table = Table(kTwoShares, {1, 2, 3});
  for (const uint64_t begin : {uint64_t{0}, uint64_t{12345}, UINT64_MAX - 3}) {
    std::map<int64_t, int> met;
    for (uint64_t n = 0; n < 10000; ++n) ++met[table.Choose(PointOfCount(begin + n))];
    EXPECT_NEAR(met[2], 500, 3) << begin;
    EXPECT_NEAR(met[3], 2050, 3) << begin;
    EXPECT_NEAR(met[1], 7450, 6) << begin;
  }
}

TEST(Traffic, RequestsWithAnIdAreDividedAtRandom) {
  const TrafficTable table = Table(kTwoShares, {1, 2, 3});
  constexpr int kIds = 400'000;
  for (const std::string& form : {std::string("request-"), std::string(""), std::string(80, 'x')}) {
    std::map<int64_t, int> met;
    for (int n = 0; n < kIds; ++n) ++met[table.Choose(PointOfId("m", absl::StrCat(form, n)))];
    for (const auto& [version, share] : std::map<int64_t, double>{{1, 0.745}, {2, 0.05}, {3, 0.205}}) {
      const double deviation = std::sqrt(kIds * share * (1 - share));
      EXPECT_NEAR(met[version], kIds * share, 4.5 * deviation) << form << " version " << version;
    }
  }
}

TEST(Traffic, AnIdKeepsItsVersionWhenTheShareGrows) {
  const TrafficTable five = Table("labels { label: 'stable' version: 1 } traffic { version: 2 percent: 5 }", {1, 2});
  const TrafficTable ten = Table("labels { label: 'stable' version: 1 } traffic { version: 2 percent: 10 }", {1, 2});
  int canary = 0;
  for (int n = 0; n < 20000; ++n) {
    const uint64_t point = PointOfId("m", absl::StrCat(n));
    EXPECT_EQ(five.Choose(point), five.Choose(PointOfId("m", absl::StrCat(n))));
    if (five.Choose(point) != 2) continue;
    ++canary;
    EXPECT_EQ(ten.Choose(point), 2) << "an id that got the canary gets it again";
  }
  EXPECT_GT(canary, 800);
}

TEST(Traffic, PointsOfIdsNeverChange) {
  // Replicas, restarts and releases must choose the same version for a request id, because clients may rely on this
  // choice. Therefore the test also compares with fixed values.
  EXPECT_EQ(PointOfId("m", "a"), PointOfId("m", "a"));
  EXPECT_NE(PointOfId("m", "a"), PointOfId("n", "a"));
  EXPECT_NE(PointOfId("ma", "b"), PointOfId("m", "ab"));
  EXPECT_EQ(PointOfId("eit-mini-cifar10", "request-1"), 0xde76a490550c4c1bu)
      << "another program computed this value from the definition";
}

TEST(Traffic, AShareOfAHundredPercentTakesAllRequests) {
  const TrafficTable table = Table("traffic { version: 1 percent: 100 }", {1, 2});
  EXPECT_EQ(table.Choose(0), 1);
  EXPECT_EQ(table.Choose(UINT64_MAX), 1);
  EXPECT_EQ(table.PercentOf(2), 0);
  const TrafficTable thirds = Table(
      "traffic { version: 1 percent: 33.3 } traffic { version: 2 percent: 33.3 } traffic { version: 3 percent: 33.4 }",
      {1, 2, 3, 4});
  EXPECT_EQ(thirds.Choose(UINT64_MAX), 3);
}

}  // namespace
}  // namespace vitrine
