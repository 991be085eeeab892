#include "server/registry/serving_settings.h"

#include <gmock/gmock.h>

#include <fstream>

#include "server/registry/serving_rules.h"
#include "server/registry/text_file.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

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

TEST_F(ServingSettingsTest, WithoutFilesTheDefaultHolds) {
  ServingSettings::Options options;
  options.default_policy.set_latest(3);
  const auto settings = *ServingSettings::Open(options);
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 3);
  EXPECT_FALSE(settings->Reload());
  EXPECT_TRUE(settings->Change("m", [](v1::ModelOverride& row) { row.set_unloaded(true); }).ok());
  EXPECT_TRUE(settings->Plan("m").changed.unloaded()) << "kept until the process ends";
}

TEST_F(ServingSettingsTest, TheFileIsReadAgainWhenItChanges) {
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

TEST_F(ServingSettingsTest, ABrokenFileKeepsTheOneBeforeAndSaysWhy) {
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
  EXPECT_EQ(settings->Plan("m").serving.version_policy().latest(), 2) << "a file that is gone changes nothing";
  files_.Write("serving", "models { model: 'm' version_policy { latest: 4 } }");
  EXPECT_TRUE(settings->Reload());
  EXPECT_TRUE(settings->fault().ok());
}

// A mode that was wrong and is put right changes nothing but the time of the change.
TEST_F(ServingSettingsTest, AFileWhoseModeChangesLooksDifferent) {
  files_.Write("serving", "");
  const std::filesystem::path path = files_.folder() / "serving";
  const std::string before = FileStamp(path);
  bool differs = false;
  // The clock of the file system is coarse.
  for (int n = 0; n < 1'000'000 && !differs; ++n) {
    std::filesystem::permissions(path, std::filesystem::perms(n % 2 == 0 ? 0600 : 0644));
    differs = FileStamp(path) != before;
  }
  EXPECT_TRUE(differs);
}

TEST_F(ServingSettingsTest, AServerDoesNotStartOnABrokenFile) {
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
  }
  const auto settings = Open();
  EXPECT_TRUE(IsPutAway(settings->Plan("m").changed, 4));
  EXPECT_EQ(settings->Plan("m").changed.put_away(0).reason(), "rolled back \"by hand\"");
  ASSERT_TRUE(settings->Change("m", [](v1::ModelOverride& row) { row = v1::ModelOverride(); }).ok());
  EXPECT_EQ(std::filesystem::file_size(files_.folder() / "state"), 0u) << "a row without content is forgotten";
}

TEST_F(ServingSettingsTest, AChangeThatIsNotValidOrCannotBeKeptIsNotMade) {
  files_.Write("serving", "");
  const auto settings = Open();
  EXPECT_EQ(settings->Change("m", [](v1::ModelOverride& row) { row.mutable_version_policy()->set_latest(0); }).code(),
            absl::StatusCode::kInvalidArgument);
  // A folder stands where the file is to be written.
  std::filesystem::create_directory(files_.folder() / "state.new");
  const absl::Status kept = settings->Change("m", [](v1::ModelOverride& row) { row.set_unloaded(true); });
  EXPECT_EQ(kept.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(kept.ToString(), HasSubstr("state.new"));
  EXPECT_FALSE(settings->Plan("m").changed.unloaded());
}

}  // namespace
}  // namespace vitrine
