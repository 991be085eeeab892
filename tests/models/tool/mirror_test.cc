// SPDX-License-Identifier: Apache-2.0
// Tests the checks of `vitrine-repo pull` before it changes its folder.
#include "models/tool/publish/remote/mirror.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <utility>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

// A source of which only the list is read.
class ListedStore : public RemoteStore {
 public:
  explicit ListedStore(std::vector<VersionId> versions) : versions_(std::move(versions)) {}
  absl::StatusOr<std::vector<VersionId>> List() override { return versions_; }
  absl::StatusOr<std::string> ReadManifest(const VersionId&) override { return absl::UnavailableError("not stored"); }
  Download DownloadOf(const VersionId&, const v1::FileDigest&, std::filesystem::path) override { return {}; }
  absl::Status PutFile(const VersionId&, const v1::FileDigest&, const std::filesystem::path&) override {
    return absl::OkStatus();
  }
  absl::Status PutManifest(const VersionId&, const std::string&) override { return absl::OkStatus(); }

 private:
  const std::vector<VersionId> versions_;
};

class Mirror : public testing::Test {
 protected:
  absl::Status Refresh(const std::vector<VersionId>& source, bool remove) {
    ListedStore store(source);
    PullOptions options;
    options.source = "s3://models/production";
    options.folder = root_.string();
    options.remove = remove;
    return RefreshMirror(store, options);
  }
  bool IsThere(const std::string& path) const { return std::filesystem::exists(root_ / path); }

  const ScratchFolder folder_;
  const std::filesystem::path root_ = folder_.path() / "own";
};

TEST_F(Mirror, VersionsOfAFolderThatIsNoCopyAreNotRemoved) {
  folder_.Write("own/m/1/weights.safetensors", "precious");
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = Refresh({{"n", 1}}, /*remove=*/true);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(refused.ToString(), HasSubstr("not pulled from s3://models/production, such as m/1"));
  }
  EXPECT_TRUE(IsThere("m/1/weights.safetensors"));
  EXPECT_FALSE(IsThere(".pull")) << "the folder must not look like a copy afterwards";
}

// A pull that was killed leaves .pull without its file `refreshed`.
TEST_F(Mirror, VersionsOfACopyThatIsIncompleteAreRemoved) {
  folder_.Write("own/m/1/manifest.textproto", "");
  folder_.Write("own/.pull/lock", "");
  const absl::Status unavailable = Refresh({{"n", 1}}, /*remove=*/true);
  EXPECT_EQ(unavailable.code(), absl::StatusCode::kUnavailable) << "it begins: " << unavailable;
}

TEST_F(Mirror, ASourceWithoutVersionsIsReported) {
  for (const bool remove : {false, true}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(Refresh({}, remove), absl::OkStatus());
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "vitrine-repo: s3://models/production has no version; check the address\n");
  }
}

}  // namespace
}  // namespace vitrine
