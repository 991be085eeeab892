// SPDX-License-Identifier: Apache-2.0
#include "models/repository/unlisted.h"

#include <gmock/gmock.h>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UnlistedFolders : public ::testing::Test {
 protected:
  std::vector<std::string> Find(const std::string& root) const {
    return UnlistedManifests(folder_.path() / root, *ListRepository(folder_.path() / root));
  }
  ScratchFolder folder_;
};

TEST_F(UnlistedFolders, ExcludeVersionsAndTemporaryFolders) {
  folder_.Write("models/m/1/manifest.textproto", "");
  folder_.Write("models/m/.tmp-x/manifest.textproto", "");
  folder_.Write("models/m/2/weights.safetensors", "");
  EXPECT_THAT(Find("models"), IsEmpty());
  std::filesystem::create_directory(folder_.path() / "empty");
  EXPECT_THAT(Find("empty"), IsEmpty());
}

TEST_F(UnlistedFolders, IncludeFoldersWithWrongNames) {
  for (const char* name : {"v1", "01", "0", "1 (copy)"}) {
    folder_.Write("models/m/" + std::string(name) + "/manifest.textproto", "");
  }
  folder_.Write("models/my model/1/manifest.textproto", "");
  EXPECT_THAT(Find("models"), ElementsAre("m/0", "m/01", "m/1 (copy)", "m/v1", "my model/1"));
}

TEST_F(UnlistedFolders, IncludeWrongLevelsAndLinks) {
  folder_.Write("volume/models/m/1/manifest.textproto", "");
  EXPECT_THAT(Find("volume"), ElementsAre("models/m/1"));
  EXPECT_THAT(Find("volume/models/m"), ElementsAre("1"));
  EXPECT_THAT(Find("volume/models/m/1"), ElementsAre("."));
  std::filesystem::create_directory(folder_.path() / "linked");
  std::filesystem::create_directory_symlink("../volume/models/m", folder_.path() / "linked/m");
  EXPECT_THAT(Find("linked"), ElementsAre("m/1"));
}

}  // namespace
}  // namespace vitrine
