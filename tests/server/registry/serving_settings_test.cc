// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/serving_settings.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <fstream>

#include "server/process/text_file.h"
#include "server/registry/settings/serving_rules.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ServingSettingsTest : public ::testing::Test {
 protected:
  ServingSettings::Options Options() const {
    ServingSettings::Options options{
        .serving_config = files_.folder() / "serving", .admin_state = files_.folder() / "state", .default_policy = {}};
    options.default_policy.set_latest(1);
    return options;
  }
  std::unique_ptr<ServingSettings> Open() {
    auto settings = ServingSettings::Open(Options());
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.ok() ? *std::move(settings) : nullptr;
  }
  FakeRepository files_;
};

TEST_F(ServingSettingsTest, WithoutFilesTheDefaultsApply) {
  ServingSettings::Options options;
  options.default_policy.set_latest(3);
  const auto settings = *ServingSettings::Open(options);
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 3);
  EXPECT_FALSE(settings->Reload());
  EXPECT_TRUE(settings->Change("m", [](v1::ModelOverride& row) { row.set_unloaded(true); }).ok());
  EXPECT_TRUE(settings->Plan("m").changed.unloaded()) << "the change applies until the process ends";
}

TEST_F(ServingSettingsTest, OnlyOneServerCanUseTheStateFile) {
  files_.Write("serving", "");
  auto first = Open();
  const auto second = Open();
  EXPECT_EQ(first->LockState(), absl::OkStatus());
  const absl::Status held = second->LockState();
  EXPECT_EQ(held.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(held.message()), AllOf(HasSubstr("--admin-state " + Options().admin_state.string() +
                                                           " is in use by another server: process"),
                                                 HasSubstr("give this one a file of its own")));
  EXPECT_TRUE(first->Change("m", [](v1::ModelOverride& row) { row.set_unloaded(true); }).ok());
  EXPECT_TRUE(first->Keep().ok());
  first.reset();
  EXPECT_EQ(second->LockState(), absl::OkStatus());
  EXPECT_TRUE(second->Plan("m").changed.unloaded()) << "the second server reads the changes of the first";
  const auto without = *ServingSettings::Open({});
  EXPECT_EQ(without->LockState(), absl::OkStatus());
}

TEST_F(ServingSettingsTest, ReloadReadsAChangedFile) {
  files_.Write("serving", "models { model: 'm' version_policy { latest: 2 } }");
  const auto settings = Open();
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 2);
  EXPECT_EQ(settings->Plan("n").serving.version_policy().latest(), 1);
  EXPECT_FALSE(settings->Reload());
  files_.Write("serving", "default_policy { all: true } models { model: 'm' version_policy { latest: 5 } }");
  EXPECT_TRUE(settings->Reload());
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 5);
  EXPECT_TRUE(settings->Plan("n").serving.version_policy().all());
  EXPECT_THAT(settings->Models(), ElementsAre("m"));
}

TEST_F(ServingSettingsTest, ABrokenFileKeepsThePreviousSettingsAndGivesTheFault) {
  files_.Write("serving", "models { model: 'm' version_policy { latest: 2 } }");
  const auto settings = Open();
  files_.Write("serving", "models {\n model: 'm' version_polizy { latest: 3 } }");
  EXPECT_FALSE(settings->Reload());
  EXPECT_THAT(settings->fault().ToString(), HasSubstr("serving: line 2, column"));
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 2);
  files_.Write("serving", "models { model: 'm' version_policy { latest: 3000 } }");
  EXPECT_FALSE(settings->Reload());
  EXPECT_THAT(settings->fault().ToString(), HasSubstr("it must be 1 to 100"));
  std::filesystem::remove(files_.folder() / "serving");
  EXPECT_FALSE(settings->Reload());
  EXPECT_FALSE(settings->fault().ok());
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 2) << "a missing file changes nothing";
  files_.Write("serving", "models { model: 'm' version_policy { latest: 4 } }");
  EXPECT_TRUE(settings->Reload());
  EXPECT_TRUE(settings->fault().ok());
}

// Removes a link and makes it again. The linked file must be read again, although its stamp has not changed.
TEST_F(ServingSettingsTest, TheFaultOfAMissingFileEndsWhenTheSameFileIsBack) {
  files_.Write("linked", "models { model: 'm' version_policy { latest: 2 } }");
  const std::filesystem::path link = files_.folder() / "serving";
  std::filesystem::create_symlink("linked", link);
  const auto settings = Open();
  std::filesystem::remove(link);
  EXPECT_FALSE(settings->Reload());
  EXPECT_FALSE(settings->fault().ok());
  std::filesystem::create_symlink("linked", link);
  settings->Reload();
  EXPECT_EQ(settings->fault(), absl::OkStatus());
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 2);
}

// Changes only the mode of a file, which changes its ctime but not its mtime.
TEST_F(ServingSettingsTest, TheStampOfAFileChangesWithItsMode) {
  files_.Write("serving", "");
  const std::filesystem::path path = files_.folder() / "serving";
  const std::string before = FileStamp(path);
  bool differs = false;
  // Repeats the change, because the clock of the file system is coarse.
  for (int n = 0; n < 1'000'000 && !differs; ++n) {
    std::filesystem::permissions(path, std::filesystem::perms(n % 2 == 0 ? 0600 : 0644));
    differs = FileStamp(path) != before;
  }
  EXPECT_TRUE(differs);
}

TEST_F(ServingSettingsTest, AServerDoesNotStartWithABrokenFile) {
  files_.Write("serving", "models { model: 'm' version_policy { latest: 0 } }");
  EXPECT_THAT(ServingSettings::Open(Options()).status().ToString(), HasSubstr("serving: model \"m\""));
  files_.Write("serving", "");
  files_.Write("state", "models { model: 'm' labels { label: 'A' version: 1 } }");
  EXPECT_THAT(ServingSettings::Open(Options()).status().ToString(), HasSubstr("state: "));
  ServingSettings::Options missing = Options();
  missing.serving_config = files_.folder() / "nowhere";
  EXPECT_EQ(ServingSettings::Open(missing).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ServingSettingsTest, ChangesSurviveARestart) {
  files_.Write("serving", "models { model: 'm' labels { label: 'stable' version: 1 } }");
  {
    const auto settings = Open();
    ASSERT_TRUE(settings
                    ->Change("m",
                             [](v1::ModelOverride& row) {
                               v1::PutAway& away = *row.add_put_away();
                               away.set_version(4);
                               away.set_reason("rolled back \"by hand\"");
                             })
                    .ok());
    ASSERT_TRUE(settings->Keep().ok());
  }
  const auto settings = Open();
  EXPECT_TRUE(IsPutAway(settings->Plan("m").changed, 4));
  EXPECT_EQ(settings->Plan("m").changed.put_away(0).reason(), "rolled back \"by hand\"");
  ASSERT_TRUE(settings->Change("m", [](v1::ModelOverride& row) { row = v1::ModelOverride(); }).ok());
  ASSERT_TRUE(settings->Keep().ok());
  EXPECT_EQ(std::filesystem::file_size(files_.folder() / "state"), 0u) << "an empty row is removed";
}

TEST_F(ServingSettingsTest, InvalidOrUnwritableChangesAreNotMade) {
  files_.Write("serving", "");
  const auto settings = Open();
  EXPECT_EQ(settings->Change("m", [](v1::ModelOverride& row) { row.mutable_version_policy()->set_latest(0); }).code(),
            absl::StatusCode::kInvalidArgument);
  // Creates a folder at the path where the file must be written, so that writing fails.
  std::filesystem::create_directory(files_.folder() / "state.new");
  const absl::Status kept = settings->Change("m", [](v1::ModelOverride& row) { row.set_unloaded(true); });
  EXPECT_EQ(kept.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(kept.ToString(), HasSubstr("state.new"));
  EXPECT_FALSE(settings->Plan("m").changed.unloaded());
}

TEST_F(ServingSettingsTest, OnlyKeepWritesTheStateFile) {
  files_.Write("serving", "");
  const std::filesystem::path state = files_.folder() / "state";
  const auto settings = Open();
  const v1::ModelOverride before = settings->Plan("m").changed;
  const auto unload = [](v1::ModelOverride& row) { row.set_unloaded(true); };
  ASSERT_TRUE(settings->Change("m", unload).ok());
  EXPECT_TRUE(settings->Plan("m").changed.unloaded()) << "the change applies";
  EXPECT_FALSE(std::filesystem::exists(state)) << "the change is not written";
  settings->Restore("m", before);
  EXPECT_FALSE(settings->Plan("m").changed.unloaded());
  EXPECT_FALSE(std::filesystem::exists(files_.folder() / "state.new"));
  ASSERT_TRUE(settings->Change("m", unload).ok());
  ASSERT_TRUE(settings->Keep().ok());
  EXPECT_TRUE(Open()->Plan("m").changed.unloaded());
}

TEST_F(ServingSettingsTest, ABestEffortChangeAppliesAndIsWrittenLater) {
  files_.Write("serving", "");
  const std::filesystem::path state = files_.folder() / "state", obstacle = files_.folder() / "state.new";
  const auto settings = Open();
  std::filesystem::create_directory(obstacle);
  const auto label = [](const std::string& name) {
    return [name](v1::ModelOverride& row) {
      v1::VersionLabel& added = *row.add_labels();
      added.set_label(name);
      added.set_version(1);
    };
  };
  ASSERT_TRUE(settings->Change("m", label("a"), ServingSettings::Durability::kBestEffort).ok());
  ASSERT_TRUE(settings->Keep().ok());
  EXPECT_EQ(LabelledVersion(settings->Plan("m").serving, "a"), 1);
  settings->Reload();
  EXPECT_FALSE(std::filesystem::exists(state));
  std::filesystem::remove(obstacle);
  const v1::ModelOverride before = settings->Plan("m").changed;
  ASSERT_TRUE(settings->Change("m", label("b")).ok());
  settings->Reload();
  EXPECT_FALSE(std::filesystem::exists(state)) << "the file is not written while a change may be undone";
  settings->Restore("m", before);
  settings->Reload();
  const auto again = Open();
  EXPECT_EQ(LabelledVersion(again->Plan("m").serving, "a"), 1);
  EXPECT_EQ(LabelledVersion(again->Plan("m").serving, "b"), 0);
}

TEST_F(ServingSettingsTest, AByteOrderMarkIsIgnored) {
  files_.Write("away", "\xEF\xBB\xBFreason: \"x\"\r\n");
  v1::PutAway away;
  const absl::Status read = ReadTextProto(files_.folder() / "away", away);
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(away.reason(), "x");
}

TEST_F(ServingSettingsTest, TheLongestFileThatCanBeReadCanBeWritten) {
  const std::filesystem::path path = files_.folder() / "longest";
  v1::PutAway away;
  away.set_reason("x");
  ASSERT_TRUE(StageTextProto(path, away).ok());
  ASSERT_TRUE(CommitFile(path).ok());
  away.set_reason(std::string((1 << 20) - std::filesystem::file_size(path) + 1, 'x'));
  ASSERT_TRUE(StageTextProto(path, away).ok());
  ASSERT_TRUE(CommitFile(path).ok());
  EXPECT_EQ(std::filesystem::file_size(path), size_t{1} << 20);
  EXPECT_TRUE(ReadTextProto(path, away).ok());
}

// Tests the size limit of the state file. A file that can be written, but is too large to be read, would prevent the
// next start of the server.
TEST_F(ServingSettingsTest, AChangeThatMakesTheStateTooLongIsRefused) {
  files_.Write("serving", "");
  const auto settings = Open();
  const auto put_away = [](size_t bytes) {
    return [bytes](v1::ModelOverride& row) {
      v1::PutAway& away = *row.add_put_away();
      away.set_version(1);
      away.set_reason(std::string(bytes, 'x'));
    };
  };
  ASSERT_TRUE(settings->Change("m", put_away((1 << 20) - 100)).ok());
  ASSERT_TRUE(settings->Keep().ok());
  const absl::Status refused = settings->Change("n", put_away(100));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.ToString(), HasSubstr("state would be longer than 1048576 bytes"));
  EXPECT_THAT(settings->Models(), ElementsAre("m"));
  const auto again = Open();
  ASSERT_NE(again, nullptr) << "the written file can be read";
  EXPECT_TRUE(IsPutAway(again->Plan("m").changed, 1));
  files_.Write("state", std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(ServingSettings::Open(Options()).status().ToString(), HasSubstr("state is longer than 1048576 bytes"));
}

// Makes the read fail with a limit on the number of open files. A file mode would not suffice, because root can read
// files with any mode.
TEST_F(ServingSettingsTest, AnUnreadableFileIsReadAtTheNextReload) {
  files_.Write("serving", "models { model: 'm' version_policy { latest: 2 } }");
  const auto settings = Open();
  files_.Write("serving", "models { model: 'm' version_policy { latest: 3 } }");
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool read = settings->Reload();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(read);
  EXPECT_FALSE(settings->fault().ok());
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 2) << "the previous settings apply";
  EXPECT_TRUE(settings->Reload());
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 3);
  EXPECT_TRUE(settings->fault().ok());
}

}  // namespace
}  // namespace vitrine
