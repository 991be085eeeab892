// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version_table.h"

#include <gmock/gmock.h>

#include <thread>

#include "server/registry/settings/serving_rules.h"
#include "server/registry/version/version_status.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VersionTableTest : public ::testing::Test {
 protected:
  VersionTableTest() {
    for (int64_t version = 1; version <= 3; ++version) Set(version, v1::READY);
    table_.SetComplete();
  }
  void Set(int64_t version, v1::ModelState state) {
    auto model = std::make_shared<LoadedModel>();
    model->id = {"m", version};
    table_.Change({"m", version}, [&](KnownVersion& known) {
      known.status.state = state;
      known.status.model = state == v1::READY ? model : nullptr;
    });
  }
  void Serve(const std::string& serving) {
    ModelPlan plan;
    plan.serving = FromText<v1::ModelServing>(serving);
    table_.SetPlan("m", plan);
  }
  int64_t Routed(const VersionSelector& requested) { return table_.Route("m", requested).value()->id.version; }

  VersionTable table_;
};

TEST_F(VersionTableTest, ARequestGetsTheVersionThatItNames) {
  EXPECT_EQ(Routed({}), 3);
  EXPECT_EQ(Routed({.version = 1, .label = "", .request_id = ""}), 1);
  Serve("labels { label: 'stable' version: 2 } labels { label: 'old' version: 1 }");
  EXPECT_EQ(Routed({}), 2);
  EXPECT_EQ(table_.Find("m").value()->id.version, 2);
  EXPECT_EQ(table_.Get("m").value().id.version, 2);
  EXPECT_EQ(Routed({.version = {}, .label = "old", .request_id = "x"}), 1);
  EXPECT_EQ(Routed({.version = {}, .label = "stable", .request_id = "x"}), 2);
}

TEST_F(VersionTableTest, RequestsAreRoutedDuringAChange) {
  table_.Change({"m", 3}, [&](KnownVersion& known) {
    known.status.state = v1::RETIRING;
    EXPECT_EQ(Routed({}), 3) << "routing uses the state before the change";
  });
  EXPECT_EQ(Routed({}), 2);
}

// Tests versions whose classes differ from the classes of the serving version.
TEST_F(VersionTableTest, AVersionWithOtherClassesNeedsTheStableLabelToServe) {
  const auto add = [&](int64_t version, const std::vector<std::string>& labels) {
    auto model = std::make_shared<LoadedModel>();
    model->id = {"n", version};
    model->labels = labels;
    table_.Change({"n", version}, [&](KnownVersion& known) {
      known.status.state = v1::READY;
      known.status.model = model;
    });
  };
  const auto stable = [&] { return table_.Traffic("n").stable; };
  add(1, {"cat", "dog"});
  EXPECT_EQ(stable(), 1) << "the first version serves";
  add(2, {"dog", "cat"});
  EXPECT_EQ(stable(), 1);
  EXPECT_THAT(table_.Waiting("n").at(2),
              HasSubstr("its class 0 is \"dog\" instead of \"cat\" compared with version 1"));
  EXPECT_THAT(table_.Get("n", 2).value().reason, HasSubstr("vitrine admin label n@2 stable"));
  EXPECT_EQ(table_.Get("n", 1).value().reason, "");
  add(3, {"cat", "dog"});
  EXPECT_EQ(stable(), 3) << "version 3 has the same classes as version 1";
  ModelPlan plan;
  plan.serving = FromText<v1::ModelServing>("labels { label: 'stable' version: 2 }");
  table_.SetPlan("n", plan);
  EXPECT_EQ(stable(), 2) << "the label stable selects version 2";
  add(4, {"cat", "dog"});
  table_.SetPlan("n", ModelPlan());
  EXPECT_EQ(stable(), 2) << "version 2 stays stable after its label is removed";
  table_.Remove({"n", 2});
  EXPECT_EQ(stable(), 4);
}

TEST_F(VersionTableTest, AVersionThatWasPutAwayIsExplained) {
  ModelPlan plan;
  plan.changed = FromText<v1::ModelOverride>(
      "put_away { version: 2 reason: 'old' } put_away { version: 3 reason: 'rolled back by the canary guard: bad' }");
  table_.SetPlan("m", plan);
  EXPECT_EQ(table_.Get("m").value().reason, "") << "versions 2 and 3 are still READY";
  Set(3, v1::RETIRING);
  const std::string text =
      "version 3 was put away (rolled back by the canary guard: bad); vitrine admin load m@3 loads it again";
  EXPECT_EQ(table_.Route("m", {.version = 3, .label = "", .request_id = ""}).status(),
            absl::NotFoundError("model \"m\" " + text +
                                "; the versions that the server loads are 1 (READY), 2 (READY), 3 (RETIRING)"));
  table_.Remove({"m", 3});
  EXPECT_EQ(
      table_.Get("m", 3).status(),
      absl::NotFoundError("model \"m\" " + text + "; the versions that the server loads are 1 (READY), 2 (READY)"));
  table_.Remove({"m", 2});
  const std::string both = text + ", version 2 was put away (by an operator); vitrine admin load m@2 loads it again";
  EXPECT_EQ(table_.Get("m").value().reason, both) << "the latest is first";
  EXPECT_EQ(table_.ListForCallers().at(0).reason, both);
  EXPECT_EQ(table_.List().at(0).reason, "") << "only for callers";
  table_.Change({"m", 1}, [](KnownVersion& known) { known.status.reason = "its files are gone"; });
  EXPECT_EQ(table_.Get("m").value().reason, "its files are gone");
  Set(4, v1::READY);
  EXPECT_EQ(table_.Get("m", 4).value().reason, both) << "version 4 is stable now";
  EXPECT_THAT(table_.Get("m", 9).status().ToString(), HasSubstr("has no version 9"));
}

TEST_F(VersionTableTest, ASuspendedVersionHasNoShareAndNoLabel) {
  Serve("labels { label: 'stable' version: 1 } traffic { version: 2 percent: 20 } traffic { version: 3 percent: 10 }");
  table_.Suspend({"m", 2}, true);
  EXPECT_EQ(table_.Traffic("m").PercentOf(2), 0);
  EXPECT_EQ(table_.Traffic("m").PercentOf(1), 90);
  EXPECT_THAT(table_.ActiveCanaries("m"), ElementsAre(2, 3));
  Serve("labels { label: 'new' version: 2 }");
  EXPECT_EQ(table_.Route("m", {.version = {}, .label = "new", .request_id = ""}).status().code(),
            absl::StatusCode::kNotFound);
  Serve("labels { label: 'stable' version: 2 }");
  EXPECT_EQ(Routed({}), 2) << "the stable version serves although it is suspended";
  Serve("traffic { version: 2 percent: 20 }");
  table_.Suspend({"m", 2}, false);
  EXPECT_EQ(table_.Traffic("m").PercentOf(2), 20);
  table_.Suspend({"m", 77}, true);
  table_.Suspend({"n", 1}, true);
  EXPECT_THAT(table_.Models(), ElementsAre("m"));
}

TEST_F(VersionTableTest, ErrorsListLabelsAndModels) {
  Serve("labels { label: 'old' version: 1 }");
  const auto both = table_.Route("m", {.version = 1, .label = "old", .request_id = ""});
  EXPECT_EQ(both.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(both.status().ToString(), HasSubstr("names version 1 and version_label \"old\""));
  const auto missing = table_.Route("m", {.version = {}, .label = "new\n", .request_id = ""});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().ToString(),
              HasSubstr("no ready version of model \"m\" has the label \"new\\n\"; its labels are old (1), stable (3); "
                        "an operator sets labels with `vitrine admin label` or --serving-config"));
  EXPECT_THAT(table_.Route("n", {.version = {}, .label = "old", .request_id = ""}).status().ToString(),
              HasSubstr("there is no model \"n\""));
  Set(1, v1::FAILED);
  EXPECT_EQ(table_.Route("m", {.version = {}, .label = "old", .request_id = ""}).status().code(),
            absl::StatusCode::kNotFound);
}

// Tests that an error lists few names, because clients accept error texts of at most 8 KiB.
TEST_F(VersionTableTest, AnErrorListsAtMostTenNames) {
  const auto add = [&](int64_t version) {
    table_.Change({absl::StrCat("n", 10 + version), 1}, [](KnownVersion& known) { known.status.state = v1::READY; });
    Set(3 + version, v1::LOADING);
  };
  for (int64_t version = 1; version <= 7; ++version) add(version);
  const auto no_model = [&] { return std::string(table_.Find("x").status().message()); };
  const auto no_version = [&] { return std::string(table_.Find("m", 99).status().message()); };
  EXPECT_THAT(no_version(), HasSubstr("10 (LOADING); an operator"));
  for (int64_t version = 8; version <= 9; ++version) add(version);
  EXPECT_THAT(no_model(), testing::EndsWith("\"n19\""));
  add(10);
  EXPECT_THAT(no_model(), testing::EndsWith("\"n19\", and 1 more"));
  EXPECT_THAT(no_version(), HasSubstr("10 (LOADING), and 3 more; an operator"));
}

TEST_F(VersionTableTest, AnErrorListsOnlyModelsThatTheCallerMaySee) {
  table_.Change({"other", 1}, [](KnownVersion& known) { known.status.state = v1::LOADING; });
  const ModelPatterns some({"m*"}), none({"x*"});
  const auto message = [&](const ModelPatterns* visible) {
    VersionSelector requested{.version = {}, .label = "", .request_id = "", .visible = visible};
    const std::string routed(table_.Route("xyz", requested).status().message());
    EXPECT_EQ(std::string(table_.Get("xyz", 1, visible).status().message()), routed);
    return routed;
  };
  EXPECT_EQ(message(nullptr), "there is no model \"xyz\"; there is \"m\", \"other\"");
  EXPECT_EQ(message(&some), "there is no model \"xyz\"; there is \"m\"");
  EXPECT_EQ(message(&none), "there is no model \"xyz\"");
}

TEST_F(VersionTableTest, RequestsAreDividedAndIdsKeepTheirVersion) {
  Serve("labels { label: 'stable' version: 1 } traffic { version: 3 percent: 25 }");
  std::set<int64_t> routed;
  for (int n = 0; n < 100; ++n) routed.insert(Routed({}));
  EXPECT_THAT(routed, ElementsAre(1, 3));
  std::map<std::string, int64_t> met;
  for (int n = 0; n < 4000; ++n) {
    const std::string id = absl::StrCat("id-", n % 1000);
    const int64_t version = Routed({.version = {}, .label = "", .request_id = id});
    EXPECT_EQ(met.try_emplace(id, version).first->second, version) << "the same id got two versions";
  }
  EXPECT_EQ(Routed({.version = 2, .label = "", .request_id = ""}), 2) << "a request that names a version gets it";
  Set(3, v1::FAILED);
  for (int n = 0; n < 100; ++n) EXPECT_EQ(Routed({}), 1) << "the stable version gets the share of a failed one";
}

TEST_F(VersionTableTest, ListsLabelsAndTraffic) {
  Serve("labels { label: 'a' version: 1 } labels { label: 'stable' version: 1 } traffic { version: 3 percent: 25 }");
  const std::vector<VersionStatus> list = table_.List("m");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_THAT(list[0].labels, ElementsAre("a", "stable"));
  EXPECT_EQ(list[0].traffic_percent, 75);
  EXPECT_THAT(list[2].labels, ElementsAre("canary"));
  EXPECT_EQ(list[2].traffic_percent, 25);
  EXPECT_TRUE(table_.List("x").empty());
}

TEST_F(VersionTableTest, APlanAppliesFromTheFirstVersionOn) {
  ModelPlan plan;
  plan.serving = FromText<v1::ModelServing>("labels { label: 'stable' version: 1 }");
  table_.SetPlan("n", plan);
  EXPECT_THAT(table_.Find("n").status().ToString(), HasSubstr("there is no model \"n\"; there is \"m\""));
  for (const int64_t version : {1, 2}) {
    table_.Change({"n", version}, [&](KnownVersion& known) {
      known.status.state = v1::READY;
      known.status.model = std::make_shared<LoadedModel>();
    });
  }
  EXPECT_EQ(table_.Traffic("n").stable, 1) << "version 2 must not serve before the plan is applied";
}

TEST_F(VersionTableTest, TheErrorNamesAnUnloadedModel) {
  ModelPlan plan;
  plan.changed.set_unloaded(true);
  table_.SetPlan("m", plan);
  for (int64_t version = 1; version <= 3; ++version) table_.Remove({"m", version});
  EXPECT_THAT(table_.Find("m").status().ToString(), HasSubstr("\"m\" was unloaded by an operator"));
  table_.SetPlan("m", {});
  EXPECT_THAT(table_.Find("m").status().ToString(), HasSubstr("there is no model"));
}

// Changes settings and versions during lookups. A lookup by label must not fail while the label's version is READY. A
// lookup without a label must not fail while any version is READY, even if the version labelled stable fails.
TEST_F(VersionTableTest, NoLookupFailsWhileSettingsChange) {
  std::atomic<bool> stop = false, stable_fails = false;
  std::atomic<int> failed = 0, wrong = 0, found = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      for (int n = 0; !stop.load(std::memory_order_relaxed); ++n) {
        const std::string id = t == 0 ? "" : absl::StrCat(n);
        const auto model = table_.Route("m", {.version = {}, .label = t == 1 ? "stable" : "", .request_id = id});
        if (!model.ok()) {
          if (t != 1 || !stable_fails) ++failed;
        } else if ((*model)->id.version < 1 || (*model)->id.version > 3) {
          ++wrong;
        }
        ++found;
      }
    });
  }
  for (int n = 0; n < 2000 || found < 2000; ++n) {
    const int shared = 1 + (n + 1) % 3;
    Serve(absl::StrCat("labels { label: 'stable' version: ", 1 + n % 3, " } traffic { version: ", shared,
                       " percent: ", 1 + n % 50, " }"));
    for (const v1::ModelState state : {v1::FAILED, v1::READY}) Set(shared, state);
  }
  stable_fails = true;
  for (int n = 0, before = found; n < 200 || found < before + 500; ++n) {
    const int stable = 1 + n % 3;
    Serve(absl::StrCat("labels { label: 'stable' version: ", stable, " }"));
    for (const v1::ModelState state : {v1::FAILED, v1::READY}) Set(stable, state);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace vitrine
