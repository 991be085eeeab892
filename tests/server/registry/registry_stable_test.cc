// SPDX-License-Identifier: Apache-2.0
// Tests that the version with the label stable serves, and that no other version serves before the registry has tried
// to load the stable version.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/logged.h"
#include "tests/server/registry/registry_settings_test.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using RegistryStableTest = RegistrySettingsTest;

TEST_F(RegistryStableTest, AStableLabelKeepsItsVersionIfNewerOnesAreLoaded) {
  files_.Add("m", 1);
  files_.Write("serving", "models { model: 'm' labels { label: 'stable' version: 1 } }");
  Open();
  registry_->Poll();
  files_.Add("m", 2);
  registry_->Poll();
  EXPECT_THAT(States(*registry_), ElementsAre("m/1 READY", "m/2 READY"));
  EXPECT_EQ(registry_->Find("m").value()->id.version, 1);
  EXPECT_EQ(registry_->Find("m", 2).value()->id.version, 2);
}

// Returns the version that serves a request with this label, or the error.
std::string Answers(const Registry& registry, std::string_view label) {
  const absl::StatusOr<ModelHandle> model = registry.Route("m", {.version = {}, .label = label, .request_id = ""});
  return model.ok() ? absl::StrCat((*model)->id.version) : model.status().ToString();
}

TEST_F(RegistryStableTest, NoOtherVersionServesBeforeTheStableOneIsTried) {
  files_.Add("m", 1);
  files_.Add("m", 4);
  files_.Write("serving", "models { model: 'm' version_policy { latest: 2 } labels { label: 'stable' version: 1 } }");
  Open();
  std::set<std::string> answers;
  registry_->Subscribe([&](const v1::ModelEvent&) {
    for (const char* label : {"", "stable"}) answers.insert(Answers(*registry_, label).substr(0, 11));
  });
  registry_->Poll();
  EXPECT_THAT(files_.loads, ElementsAre("m/1", "m/4"));
  EXPECT_THAT(answers, ElementsAre("1", "UNAVAILABLE"));
}

TEST_F(RegistryStableTest, AFailedStableVersionLeavesItsLabelWithoutVersion) {
  files_.Add("m", 1);
  files_.Add("m", 4);
  files_.bad = {{"m", 1}};
  files_.Write("serving", "models { model: 'm' labels { label: 'stable' version: 1 } }");
  Open();
  const std::string log = Logged("info", "text", [&] { registry_->Poll(); });
  EXPECT_THAT(log, HasSubstr("serving_version=0 next_try=2s labels=stable"));
  EXPECT_EQ(Answers(*registry_, ""), "4") << "the newest version serves as a fallback";
  EXPECT_EQ(
      Answers(*registry_, "stable"),
      "NOT_FOUND: no ready version of model \"m\" has the label \"stable\", which is set for version 1; no version "
      "has a label");
  files_.bad.clear();
  std::set<std::string> meanwhile;
  registry_->Subscribe([&](const v1::ModelEvent&) { meanwhile.insert(Answers(*registry_, "")); });
  clock_.Advance(absl::Hours(1));
  registry_->Poll();
  EXPECT_THAT(meanwhile, ElementsAre("1", "4"));
  EXPECT_EQ(Answers(*registry_, "stable"), "1");
}

TEST_F(RegistryStableTest, TheOldStableVersionServesUntilTheNewOneIsLoaded) {
  for (const int64_t version : {1, 3, 4}) files_.Add("m", version);
  files_.Write("serving", "models { model: 'm' labels { label: 'stable' version: 3 } }");
  Open();
  registry_->Poll();
  std::vector<std::string> answers;
  registry_->Subscribe([&](const v1::ModelEvent& event) {
    if (event.version().version() != 1) return;
    for (const char* label : {"", "stable"}) answers.push_back(Answers(*registry_, label));
  });
  files_.Write("serving", "models { model: 'm' labels { label: 'stable' version: 1 } }");
  registry_->Poll();
  EXPECT_THAT(answers, ElementsAre("3", "3", "1", "1"));
}

}  // namespace
}  // namespace vitrine
