// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/version_policy.h"

#include <gmock/gmock.h>

#include "server/registry/settings/serving_rules.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using State = VersionFacts::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ModelPlan Plan(const std::string& serving, const std::string& changed = "") {
  ModelPlan plan;
  plan.changed = FromText<v1::ModelOverride>(changed);
  plan.serving = MergeServing(FromText<v1::ModelServing>(serving), plan.changed);
  return plan;
}

VersionFacts Facts(int64_t version, State state = State::kAbsent, bool on_disk = true) {
  return {.version = version, .state = state, .on_disk = on_disk};
}

// Performs the steps of NextStep until there are none left, and returns the ready versions. Every load succeeds, except
// the loads of the versions in `bad`.
std::vector<int64_t> Settle(std::vector<VersionFacts> versions, const ModelPlan& plan,
                            const std::set<int64_t>& bad = {}) {
  for (int step = 0; step < 100; ++step) {
    const VersionStep next = NextStep(versions, plan);
    if (next.load.has_value()) {
      EXPECT_THAT(next.retire, IsEmpty()) << "no version retires while another is to be loaded";
    }
    for (VersionFacts& version : versions) {
      if (next.load == version.version) {
        version.state = bad.contains(version.version) ? State::kFailed : State::kReady;
      }
      if (std::count(next.retire.begin(), next.retire.end(), version.version)) version.state = State::kRetiring;
    }
    if (next.load.has_value() || !next.retire.empty()) continue;
    std::vector<int64_t> ready;
    for (const VersionFacts& version : versions) {
      if (version.state == State::kReady) ready.push_back(version.version);
    }
    return ready;
  }
  ADD_FAILURE() << "the steps do not end";
  return {};
}

std::vector<VersionFacts> OnDisk(int64_t count) {
  std::vector<VersionFacts> versions;
  for (int64_t version = 1; version <= count; ++version) versions.push_back(Facts(version));
  return versions;
}

TEST(VersionPolicy, LatestLoadsTheNewestGoodVersions) {
  EXPECT_THAT(Settle(OnDisk(5), Plan("version_policy { latest: 1 }")), ElementsAre(5));
  EXPECT_THAT(Settle(OnDisk(5), Plan("version_policy { latest: 2 }")), ElementsAre(4, 5));
  EXPECT_THAT(Settle(OnDisk(2), Plan("version_policy { latest: 9 }")), ElementsAre(1, 2));
  EXPECT_THAT(Settle(OnDisk(5), Plan("version_policy { latest: 2 }"), {5, 3}), ElementsAre(2, 4))
      << "a version that cannot be loaded does not count";
}

TEST(VersionPolicy, AllLoadsEveryVersion) {
  EXPECT_THAT(Settle(OnDisk(4), Plan("version_policy { all: true }"), {2}), ElementsAre(1, 3, 4));
}

TEST(VersionPolicy, SpecificLoadsOnlyTheNamedVersions) {
  EXPECT_THAT(Settle(OnDisk(5), Plan("version_policy { specific { versions: [2, 4] } }")), ElementsAre(2, 4));
  EXPECT_THAT(Settle(OnDisk(2), Plan("version_policy { specific { versions: [7] } }")), IsEmpty())
      << "no other version is loaded instead";
}

TEST(VersionPolicy, LoadsTheNewestFirstAndThenRetiresOldOnes) {
  const ModelPlan plan = Plan("version_policy { latest: 2 }");
  EXPECT_EQ(NextStep(OnDisk(3), plan).load, 3);
  const std::vector<VersionFacts> swapping = {Facts(1, State::kReady), Facts(2, State::kReady), Facts(3)};
  EXPECT_EQ(NextStep(swapping, plan).load, 3);
  EXPECT_THAT(NextStep(swapping, plan).retire, IsEmpty()) << "the old versions serve until the new one is ready";
  const ModelPlan pinned = Plan("version_policy { latest: 2 } labels { label: 'stable' version: 1 }");
  EXPECT_EQ(NextStep(OnDisk(3), pinned).load, 1) << "the stable version is loaded first";
  EXPECT_EQ(NextStep({Facts(1, State::kFailed), Facts(2), Facts(3)}, pinned).load, 3);
}

TEST(VersionPolicy, NamedVersionsAreLoadedInAdditionToThePolicy) {
  const std::string latest = "version_policy { latest: 1 } ";
  EXPECT_THAT(Settle(OnDisk(5), Plan(latest + "labels { label: 'stable' version: 2 }")), ElementsAre(2, 5));
  EXPECT_THAT(Settle(OnDisk(5), Plan(latest + "traffic { version: 3 percent: 5 }")), ElementsAre(3, 5));
  EXPECT_THAT(Settle(OnDisk(5), Plan(latest, "loaded: 1")), ElementsAre(1, 5));
}

TEST(VersionPolicy, ACanaryDoesNotReplaceTheServingVersion) {
  const std::string latest = "version_policy { latest: 1 } ";
  EXPECT_THAT(Settle(OnDisk(3), Plan(latest + "traffic { version: 3 percent: 5 }")), ElementsAre(2, 3));
  EXPECT_THAT(Settle(OnDisk(3), Plan(latest + "labels { label: 'canary' version: 3 }")), ElementsAre(2, 3));
  EXPECT_THAT(Settle(OnDisk(3), Plan(latest + "labels { label: 'stable' version: 3 }"
                                              "traffic { version: 3 percent: 100 }")),
              ElementsAre(3));
  EXPECT_EQ(NextStep(OnDisk(3), Plan(latest + "traffic { version: 3 percent: 5 }")).load, 2)
      << "the canary alone would get all requests";
}

// The stable version gets the requests that the canaries do not get, so no older version is needed for these requests.
TEST(VersionPolicy, ACanaryBesideTheStableVersionLoadsNoOlderVersion) {
  const std::string latest = "version_policy { latest: 1 } ", latest2 = "version_policy { latest: 2 } ";
  const std::string stable = "labels { label: 'stable' version: 1 } ", share = "traffic { version: 4 percent: 5 } ";
  const std::string canary = "labels { label: 'canary' version: 4 } ";
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable + share)), ElementsAre(1, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable + canary)), ElementsAre(1, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable + share + "traffic { version: 3 percent: 95 }")),
              ElementsAre(1, 3, 4));
  EXPECT_THAT(Settle(OnDisk(5), Plan(latest + stable + share)), ElementsAre(1, 4, 5)) << "5 is newer than the canary";
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest2 + stable + share)), ElementsAre(1, 3, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest2 + share)), ElementsAre(2, 3, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable + share), {4}), ElementsAre(1, 3)) << "4 is not valid";
  const std::vector<VersionFacts> labelled = {Facts(1, State::kReady), Facts(2), Facts(3), Facts(4, State::kReady)};
  const VersionStep step = NextStep(labelled, Plan(latest + stable + share));
  EXPECT_TRUE(!step.load.has_value() && step.retire.empty()) << "the share changes no version in memory";
}

TEST(VersionPolicy, ACanaryIsNotTheOnlyVersionWithoutAStableOne) {
  const std::string latest = "version_policy { latest: 1 } ", share = "traffic { version: 4 percent: 5 } ";
  const std::string stable = "labels { label: 'stable' version: 1 } ";
  const std::string missing = "labels { label: 'stable' version: 9 } ";
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + share)), ElementsAre(3, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + missing + share)), ElementsAre(3, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable + share), {1}), ElementsAre(3, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable + share, "put_away { version: 1 }")), ElementsAre(3, 4));
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + stable, "put_away { version: 4 }")), ElementsAre(1))
      << "version 1 serves, so nothing needs to replace the canary that was put away";
  EXPECT_THAT(Settle(OnDisk(5), Plan(latest + stable, "put_away { version: 4 }")), ElementsAre(1, 5));
  EXPECT_THAT(Settle(OnDisk(5), Plan("version_policy { latest: 3 } labels { label: 'stable' version: 3 }",
                                     "put_away { version: 4 } put_away { version: 5 }")),
              ElementsAre(1, 2, 3))
      << "versions older than the stable one keep their places";
  EXPECT_THAT(Settle(OnDisk(4), Plan(latest + share + "traffic { version: 3 percent: 5 }")), ElementsAre(2, 3, 4));
  const std::vector<VersionFacts> served = {Facts(1), Facts(2), Facts(3, State::kReady), Facts(4, State::kReady)};
  EXPECT_THAT(Settle(served, Plan(latest + stable + share), {1}), ElementsAre(3, 4))
      << "3 serves while the next try of the stable version fails";
  EXPECT_THAT(Settle(served, Plan(latest + stable + share)), ElementsAre(1, 4)) << "3 retires once it succeeds";
}

TEST(VersionPolicy, AWaitingVersionDoesNotReplaceTheServingVersion) {
  const auto waiting = [](int64_t version) {
    VersionFacts facts = Facts(version, State::kReady);
    facts.is_waiting = true;
    return facts;
  };
  EXPECT_THAT(Settle({Facts(1), Facts(2, State::kReady), waiting(3), waiting(4)}, Plan("version_policy { latest: 1 }")),
              ElementsAre(2, 4));
}

TEST(VersionPolicy, AVersionThatWasPutAwayIsNotLoaded) {
  EXPECT_THAT(Settle(OnDisk(3), Plan("version_policy { latest: 1 }", "put_away { version: 3 }")), ElementsAre(2));
  EXPECT_THAT(Settle(OnDisk(3), Plan("version_policy { all: true }", "put_away { version: 2 }")), ElementsAre(1, 3));
  EXPECT_THAT(Settle(OnDisk(3), Plan("version_policy { latest: 1 } labels { label: 'a' version: 3 }",
                                     "put_away { version: 3 } loaded: 3")),
              ElementsAre(2))
      << "neither a label nor an earlier load request loads version 3";
  EXPECT_THAT(Settle({Facts(1), Facts(2), Facts(3, State::kReady)},
                     Plan("version_policy { latest: 1 }", "put_away { version: 3 }")),
              ElementsAre(2));
}

TEST(VersionPolicy, TheLastReadyVersionStays) {
  // Makes the load of the replacement fail.
  EXPECT_THAT(
      Settle({Facts(1), Facts(2, State::kReady)}, Plan("version_policy { latest: 1 }", "put_away { version: 2 }"), {1}),
      ElementsAre(2));
  // The policy names a version that does not exist.
  EXPECT_THAT(
      Settle({Facts(1, State::kReady), Facts(2, State::kReady)}, Plan("version_policy { specific { versions: 9 } }")),
      ElementsAre(2));
  // The policy selects neither version. The version that was not rolled back stays.
  EXPECT_THAT(Settle({Facts(1, State::kReady), Facts(2, State::kReady)},
                     Plan("version_policy { specific { versions: 9 } }", "put_away { version: 2 }")),
              ElementsAre(1));
}

TEST(VersionPolicy, AnUnloadedModelHasNoVersions) {
  EXPECT_THAT(Settle({Facts(1, State::kReady), Facts(2)}, Plan("version_policy { latest: 1 }", "unloaded: true")),
              IsEmpty());
  EXPECT_THAT(Settle(OnDisk(2),
                     Plan("version_policy { all: true } labels { label: 'a' version: 1 }", "unloaded: true loaded: 2")),
              IsEmpty());
}

TEST(VersionPolicy, VersionsDeletedFromDiskKeepServing) {
  const ModelPlan plan = Plan("version_policy { latest: 1 }");
  EXPECT_THAT(Settle({Facts(1), Facts(2, State::kReady, false)}, plan), ElementsAre(2));
  EXPECT_THAT(Settle({Facts(2, State::kRetiring, false)}, plan), IsEmpty())
      << "a retiring version without files cannot serve again";
}

TEST(VersionPolicy, ARetiringVersionCanServeAgain) {
  EXPECT_THAT(Settle({Facts(1, State::kRetiring), Facts(2, State::kReady)},
                     Plan("version_policy { latest: 1 }", "put_away { version: 2 }")),
              ElementsAre(1));
}

// Tries all states of three versions with several policies and changes. The guarantees in version_policy.h must hold
// for each combination.
TEST(VersionPolicy, KeepsItsGuaranteesInEveryState) {
  const std::string latest = "version_policy { latest: 1 } ";
  const std::string servings[] = {latest,
                                  "version_policy { latest: 2 }",
                                  "version_policy { all: true }",
                                  "version_policy { specific { versions: [1, 3] } }",
                                  latest + "traffic { version: 3 percent: 5 }",
                                  latest + "traffic { version: 3 percent: 5 } labels { label: 'stable' version: 1 }",
                                  latest + "traffic { version: 2 percent: 5 } labels { label: 'stable' version: 3 }"};
  const std::string changes[] = {"", "put_away { version: 3 }", "put_away { version: 1 } put_away { version: 2 }",
                                 "loaded: 1"};
  const State states[] = {State::kAbsent, State::kReady, State::kRetiring, State::kFailed};
  for (const std::string& serving : servings) {
    for (const std::string& change : changes) {
      const ModelPlan plan = Plan(serving, change);
      for (int code = 0; code < 64; ++code) {
        const std::vector<VersionFacts> versions = {Facts(1, states[code % 4]), Facts(2, states[code / 4 % 4]),
                                                    Facts(3, states[code / 16])};
        const bool served = std::any_of(versions.begin(), versions.end(),
                                        [](const VersionFacts& version) { return version.state == State::kReady; });
        if (served) {
          EXPECT_FALSE(Settle(versions, plan, {1, 2, 3}).empty()) << serving << " " << change << " " << code;
        }
        // If some version that is not a canary can serve, some version that is not a canary must be READY.
        const auto is_other = [&](const VersionFacts& version) {
          return version.state != State::kFailed && !IsPutAway(plan.changed, version.version) &&
                 !IsCanary(plan.serving, version.version);
        };
        const std::vector<int64_t> ready = Settle(versions, plan);
        if (plan.serving.version_policy().has_latest() && std::any_of(versions.begin(), versions.end(), is_other)) {
          EXPECT_TRUE(
              std::any_of(ready.begin(), ready.end(), [&](int64_t number) { return !IsCanary(plan.serving, number); }))
              << serving << " " << change << " " << code;
        }
        const VersionStep step = NextStep(versions, plan);
        if (step.load.has_value()) {
          EXPECT_FALSE(IsPutAway(plan.changed, *step.load)) << serving << " " << change;
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitrine
