// SPDX-License-Identifier: Apache-2.0
// Tests versions that cannot be loaded, and versions whose files were replaced.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/server/logged.h"
#include "tests/server/registry/registry_test.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(RegistryTest, ABadVersionLeavesTheOldOneServing) {
  Add("m", 1);
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  Add("m", 2);
  bad.insert({"m", 2});
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY", "m/2 FAILED"));
  EXPECT_THAT(registry.Get("m", 2).value().reason, HasSubstr("weights.safetensors"));
  EXPECT_EQ(registry.Find("m").value()->id.version, 1);
  EXPECT_THAT(registry.Find("m", 2).status().ToString(), HasSubstr("version 2 is not ready"));
}

TEST_F(RegistryTest, FallsBackToAnOlderVersionAtStart) {
  Add("m", 1);
  Add("m", 2);
  bad.insert({"m", 2});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY", "m/2 FAILED"));
}

// Tests that the delay before a retry is 1 s, then 2 s, 4 s and so on, up to last_retry.
TEST_F(RegistryTest, TheDelayGrowsUpToItsMaximum) {
  Add("m", 1);
  bad.insert({"m", 1});
  RegistryOptions options = Options();
  options.first_retry = absl::Seconds(1);
  options.last_retry = absl::Seconds(5);
  Registry registry(options, Loader(), clock_);
  registry.Poll();
  const auto loads_after = [&](absl::Duration delay) {
    clock_.Advance(delay - absl::Nanoseconds(1));
    registry.Poll();
    const size_t before = loads.size();
    clock_.Advance(absl::Nanoseconds(1));
    registry.Poll();
    return std::pair(before, loads.size());
  };
  EXPECT_EQ(loads_after(absl::Seconds(1)), std::pair(size_t{1}, size_t{2}));
  EXPECT_EQ(loads_after(absl::Seconds(2)), std::pair(size_t{2}, size_t{3}));
  EXPECT_EQ(loads_after(absl::Seconds(4)), std::pair(size_t{3}, size_t{4}));
  EXPECT_EQ(loads_after(absl::Seconds(5)), std::pair(size_t{4}, size_t{5}));
  for (int i = 0; i < 70; ++i) {
    clock_.Advance(absl::Seconds(5));
    registry.Poll();
  }
  EXPECT_EQ(loads.size(), 75u) << "the delay stays at its maximum";
}

TEST_F(RegistryTest, RetriesAtOnceWhenTheManifestChanges) {
  Add("m", 1);
  bad.insert({"m", 1});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  bad.clear();
  Add("m", 1, "another manifest");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
}

// Copies a version by hand, with the manifest first. The version must be loaded soon after the last byte, before the
// next retry.
TEST_F(RegistryTest, RetriesSoonAfterTheEndOfACopy) {
  Add("m", 1);
  Add("m", 2);
  bad.insert({"m", 2});
  RegistryOptions options = Options();
  options.first_retry = options.last_retry = absl::Hours(1);
  Registry registry(options, Loader(), clock_);
  registry.Poll();
  const auto copy = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(root() / "m/2" / name, std::ios::app) << bytes;
  };
  for (int piece = 0; piece < 5; ++piece) {
    copy("weights.safetensors", "piece");
    registry.Poll();
  }
  EXPECT_THAT(loads, ElementsAre("m/2", "m/1")) << "a version whose files grow is not loaded";
  registry.Poll();
  EXPECT_EQ(loads.size(), 3u) << "the files have not changed since the last poll, so the copy may be complete";
  registry.Poll();
  registry.Poll();
  EXPECT_EQ(loads.size(), 3u) << "unchanged files are not loaded again before the retry time";
  copy("golden.safetensors", "all");
  bad.clear();
  registry.Poll();
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 RETIRING", "m/2 READY"));
}

TEST_F(RegistryTest, RetriesSoonAfterTheEndOfAReplacement) {
  Add("m", 1);
  RegistryOptions options = Options();
  options.first_retry = options.last_retry = absl::Hours(1);
  Registry registry(options, Loader(), clock_);
  registry.Poll();
  bad.insert({"m", 1});
  std::ofstream(root() / "m/1/weights.safetensors") << "half";
  registry.Poll();
  EXPECT_EQ(loads.size(), 2u);
  std::ofstream(root() / "m/1/weights.safetensors") << "both halves";
  bad.clear();
  registry.Poll();
  registry.Poll();
  EXPECT_EQ(loads.size(), 3u);
  EXPECT_EQ(registry.Get("m", 1)->reason, "");
}

TEST_F(RegistryTest, SymbolicLinksAreReportedOnce) {
  Add("m", 1);
  std::filesystem::create_directory_symlink("1", root() / "m/2");
  std::filesystem::create_directory_symlink(folder(), root() / "elsewhere");
  std::filesystem::create_symlink("m/1/manifest.textproto", root() / "README");
  Registry registry(Options(), Loader(), clock_);
  const auto poll = [&] { return Logged("info", "text", [&] { registry.Poll(); }); };
  const std::string log = poll();
  EXPECT_THAT(log, HasSubstr("m/2 is a symbolic link and is ignored"));
  EXPECT_THAT(log, HasSubstr("elsewhere is a symbolic link and is ignored"));
  EXPECT_THAT(log, Not(HasSubstr("README")));
  EXPECT_THAT(poll(), Not(HasSubstr("symbolic link")));
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
}

// Tests a repository whose root is a symbolic link. An operator can point the link to another release with `ln -sfn`.
TEST_F(RegistryTest, ARootThatIsALinkIsServed) {
  Add("m", 1);
  std::filesystem::create_directory_symlink(root(), folder() / "current");
  RegistryOptions options = Options();
  options.root = folder() / "current";
  Registry registry(options, Loader(), clock_);
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
  std::filesystem::create_directories(folder() / "next/m/2");
  std::ofstream(folder() / "next/m/2/manifest.textproto") << "manifest";
  std::filesystem::remove(folder() / "current");
  std::filesystem::create_directory_symlink("next", folder() / "current");
  registry.Poll();
  EXPECT_EQ(registry.Find("m").value()->id.version, 2);
}

TEST_F(RegistryTest, AFailedVersionThatIsRemovedIsForgotten) {
  Add("m", 1);
  bad.insert({"m", 1});
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::filesystem::remove_all(root() / "m");
  registry.Poll();
  EXPECT_THAT(States(registry), IsEmpty());
}

TEST_F(RegistryTest, ReplacedFilesAreLoadedAndHandlesKeepTheOldModel) {
  Add("m", 1, "old");
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  registry.Poll();
  EXPECT_THAT(loads, ElementsAre("m/1")) << "unchanged files are loaded once";
  const ModelHandle held = registry.Find("m").value();
  std::filesystem::remove_all(root() / "m" / "1");
  Add("m", 1, "new");
  registry.Poll();
  EXPECT_EQ(registry.Find("m").value()->weights_sha256, "new");
  EXPECT_EQ(held->weights_sha256, "old");
  registry.Poll();
  EXPECT_THAT(loads, ElementsAre("m/1", "m/1"));
}

TEST_F(RegistryTest, ACanaryWithReplacedFilesGetsItsShareBack) {
  Add("m", 1);
  Add("m", 2, "old");
  std::ofstream(folder() / "serving") << "models { model: 'm' version_policy { latest: 2 } "
                                         "labels { label: 'stable' version: 1 } traffic { version: 2 percent: 20 } }";
  RegistryOptions options = Options();
  options.serving_config = (folder() / "serving").string();
  Registry registry(options, Loader(), clock_);
  registry.Poll();
  registry.Suspend({"m", 2}, true);
  EXPECT_EQ(registry.Traffic("m").PercentOf(2), 0);
  Add("m", 2, "new");
  registry.Poll();
  EXPECT_EQ(registry.Find("m", 2).value()->weights_sha256, "new");
  EXPECT_EQ(registry.Traffic("m").PercentOf(2), 20);
}

TEST_F(RegistryTest, ReplacedWeightsAreDetected) {
  Add("m", 1);
  const std::filesystem::path weights = root() / "m" / "1" / "weights.safetensors";
  std::ofstream(weights) << "old";
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  std::ofstream(weights) << "others";
  registry.Poll();
  EXPECT_THAT(loads, ElementsAre("m/1", "m/1"));
}

TEST_F(RegistryTest, RewrittenEqualFilesKeepTheLoadedModel) {
  Add("m", 1, "same");
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  const ModelHandle held = registry.Find("m").value();
  Add("m", 1, "same");
  registry.Poll();
  EXPECT_EQ(loads.size(), 2U);
  EXPECT_EQ(registry.Find("m").value(), held);
}

TEST_F(RegistryTest, BadReplacementFilesLeaveTheLoadedModelServing) {
  Add("m", 1, "old");
  Registry registry(Options(), Loader(), clock_);
  registry.Poll();
  bad.insert({"m", 1});
  Add("m", 1, "broken");
  registry.Poll();
  EXPECT_THAT(States(registry), ElementsAre("m/1 READY"));
  EXPECT_EQ(registry.Find("m").value()->weights_sha256, "old");
  bad.clear();
  Add("m", 1, "mended");
  registry.Poll();
  EXPECT_EQ(loads.size(), 2U) << "the new files must not be loaded before the retry time";
  clock_.Advance(absl::Seconds(2));
  registry.Poll();
  EXPECT_EQ(registry.Find("m").value()->weights_sha256, "mended");
}

}  // namespace
}  // namespace vitrine
