// SPDX-License-Identifier: Apache-2.0
// Tests the checks that `vitrine-repo pull` makes before it changes its folder.
#include "models/tool/publish/remote/mirror.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

constexpr char kBundled[] = VITRINE_SOURCE "/models/bundled/kv-pos-mnist/1";

// A source that lists its versions but refuses all downloads. The manifest of kv-pos-mnist is `own` if that is not
// empty. Every other manifest is `others`.
class ListedStore : public RemoteStore {
 public:
  ListedStore(std::vector<VersionId> versions, absl::StatusOr<std::string> others, std::string own)
      : versions_(std::move(versions)), others_(std::move(others)), own_(std::move(own)) {}
  absl::StatusOr<std::vector<VersionId>> List() override { return versions_; }
  absl::StatusOr<std::string> ReadManifest(const VersionId& id) override {
    return id.model == "kv-pos-mnist" && !own_.empty() ? own_ : others_;
  }
  Download DownloadOf(const VersionId&, const v1::FileDigest& file, std::filesystem::path into) override {
    return {.url = "https://a.test/" + file.name(),
            .file = std::move(into),
            .bytes = file.bytes(),
            .sha256 = file.sha256(),
            .ask = [](const FetchRequest&) { return FetchReply{.status = 403}; }};
  }
  absl::Status PutFile(const VersionId&, const v1::FileDigest&, const std::filesystem::path&) override {
    return absl::OkStatus();
  }
  absl::Status PutManifest(const VersionId&, const std::string&) override { return absl::OkStatus(); }

 private:
  const std::vector<VersionId> versions_;
  const absl::StatusOr<std::string> others_;
  const std::string own_;
};

class Mirror : public testing::Test {
 protected:
  absl::Status Refresh(const std::vector<VersionId>& source, bool remove,
                       const absl::StatusOr<std::string>& others = absl::UnavailableError("not stored"),
                       const std::string& own = "", int64_t most_bytes = 0) {
    ListedStore store(source, others, own);
    PullOptions options;
    options.source = "s3://models/production";
    options.folder = root_.string();
    options.remove = remove;
    options.most_bytes = most_bytes;
    return RefreshMirror(store, options, damaged_);
  }
  // Puts a complete version, kv-pos-mnist/1, into the copy.
  void CopyVersion() const {
    std::filesystem::create_directories(root_ / "kv-pos-mnist");
    std::filesystem::copy(kBundled, root_ / "kv-pos-mnist/1");
  }
  std::string Refreshed() const { return folder_.Read("own/.pull/refreshed"); }
  bool IsThere(const std::string& path) const { return std::filesystem::exists(root_ / path); }

  const ScratchFolder folder_;
  const std::filesystem::path root_ = folder_.path() / "own";
  DamagedVersions damaged_;
};

TEST_F(Mirror, VersionsOfAnotherFolderAreNotRemoved) {
  folder_.Write("own/m/1/weights.safetensors", "precious");
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = Refresh({{"n", 1}}, /*remove=*/true);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(refused.ToString(), HasSubstr("not pulled from s3://models/production, such as m/1"));
  }
  EXPECT_TRUE(IsThere("m/1/weights.safetensors"));
  EXPECT_FALSE(IsThere(".pull")) << "the folder must not look like a copy afterwards";
}

TEST_F(Mirror, ATooLongFolderNameIsAnError) {
  ListedStore store({}, absl::UnavailableError("not stored"), "");
  for (const bool remove : {false, true}) {
    const PullOptions options = {.source = "s3://m", .folder = folder_.Path(std::string(300, 'a')), .remove = remove};
    DamagedVersions damaged;
    EXPECT_THAT(RefreshMirror(store, options, damaged).ToString(), HasSubstr("File name too long"));
  }
}

// A pull that was killed leaves .pull without its file `refreshed`.
TEST_F(Mirror, VersionsOfAnIncompleteCopyAreRemoved) {
  folder_.Write("own/m/1/manifest.textproto", "");
  folder_.Write("own/.pull/lock", "");
  const absl::Status unavailable = Refresh({{"n", 1}}, /*remove=*/true);
  EXPECT_EQ(unavailable.code(), absl::StatusCode::kUnavailable) << "it begins: " << unavailable;
}

// One damaged version must not keep a server from serving the other versions.
TEST_F(Mirror, ARefreshThatSkipsVersionsMakesAPartialCopy) {
  const std::string damaged = "no manifest";
  folder_.Write("own/.pull/lock", "");
  EXPECT_FALSE(Refresh({{"kv-pos-mnist", 1}, {"n", 1}}, /*remove=*/true, damaged).ok());
  EXPECT_FALSE(IsThere(".pull/refreshed")) << "no version at all";
  CopyVersion();
  folder_.Write("own/m/1/manifest.textproto", "");
  EXPECT_FALSE(Refresh({{"kv-pos-mnist", 1}, {"n", 1}}, /*remove=*/true).ok());
  EXPECT_FALSE(IsThere(".pull/refreshed")) << "the refresh was interrupted";
  for (const absl::Status& refused : {absl::PermissionDeniedError("403"), absl::FailedPreconditionError("400")}) {
    EXPECT_EQ(Refresh({{"kv-pos-mnist", 1}, {"n", 1}}, /*remove=*/true, refused).code(), refused.code());
    EXPECT_FALSE(IsThere(".pull/refreshed")) << "the source may refuse all requests since its credentials expired";
  }
  const absl::Status left_out = Refresh({{"kv-pos-mnist", 1}, {"n", 1}}, /*remove=*/true, damaged);
  EXPECT_THAT(left_out.ToString(), HasSubstr("n/1: manifest.textproto: "));
  EXPECT_EQ(Refreshed(), "part of s3://models/production\n");
  EXPECT_TRUE(IsThere("kv-pos-mnist/1/manifest.textproto"));
  EXPECT_FALSE(IsThere("m/1")) << "a server must not serve versions of another source";

  EXPECT_EQ(Refresh({{"kv-pos-mnist", 1}}, /*remove=*/true), absl::OkStatus());
  EXPECT_EQ(Refreshed(), "1 versions of s3://models/production\n");
  EXPECT_FALSE(Refresh({{"n", 1}, {"kv-pos-mnist", 1}}, /*remove=*/true, damaged).ok());
  EXPECT_EQ(Refreshed(), "1 versions of s3://models/production\n") << "a complete copy stays complete";
}

// An archived or protected object of a bucket is refused with status 403, while the bucket returns its other objects.
TEST_F(Mirror, ARefusedVersionDoesNotBlockTheOthers) {
  const std::string own = ReadFile(std::string(kBundled) + "/manifest.textproto");
  const absl::Status refused = Refresh({{"kv-pos-mnist", 1}, {"n", 1}}, /*remove=*/true, "no manifest", own);
  EXPECT_THAT(refused.ToString(), HasSubstr("kv-pos-mnist/1: https://a.test/"));
  EXPECT_THAT(refused.ToString(), HasSubstr("n/1: manifest.textproto: ")) << "n/1 was tried, too";
  CopyVersion();
  for (const absl::Status& fault : {absl::PermissionDeniedError("403"), absl::OutOfRangeError("2 MiB")}) {
    std::filesystem::remove(root_ / ".pull/refreshed");
    EXPECT_EQ(Refresh({{"kv-pos-mnist", 1}, {"n", 1}}, /*remove=*/true, fault, own).code(), fault.code());
    EXPECT_EQ(Refreshed(), "part of s3://models/production\n") << "the source still returns kv-pos-mnist/1";
  }
}

// A source that sends each file in its stated size, but filled with the character `text`.
class WrongStore : public ListedStore {
 public:
  using ListedStore::ListedStore;
  Download DownloadOf(const VersionId& id, const v1::FileDigest& file, std::filesystem::path into) override {
    Download download = ListedStore::DownloadOf(id, file, std::move(into));
    download.ask = [this, bytes = file.bytes()](const FetchRequest& request) -> absl::StatusOr<FetchReply> {
      ++sent;
      const FetchReply reply = {.status = 200};
      RETURN_IF_ERROR(request.sink(reply, std::string(static_cast<size_t>(bytes), text)));
      return reply;
    };
    return download;
  }

  char text = 'x';
  int sent = 0;
};

TEST_F(Mirror, ADamagedVersionIsNotFetchedAtEachRefresh) {
  const std::string own = ReadFile(std::string(kBundled) + "/manifest.textproto");
  const std::vector<VersionId> listed = {{"kv-pos-mnist", 1}};
  const PullOptions options = {.source = "s3://models/production", .folder = root_.string()};
  WrongStore store(listed, absl::NotFoundError("404"), own);
  const auto refresh = [&](RemoteStore& from) { return RefreshMirror(from, options, damaged_); };
  const absl::Status first = refresh(store);
  EXPECT_EQ(first.code(), absl::StatusCode::kDataLoss) << first;
  EXPECT_FALSE(damaged_.only_known);
  store.text = 'y';
  EXPECT_NE(refresh(store), first) << "other wrong bytes, as of a broken connection";
  EXPECT_FALSE(damaged_.only_known);
  const absl::Status second = refresh(store);
  EXPECT_TRUE(damaged_.only_known) << "the same wrong bytes";
  EXPECT_EQ(store.sent, 3);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(refresh(store), second);
  EXPECT_TRUE(damaged_.only_known);
  EXPECT_EQ(store.sent, 3) << "nothing is sent again";

  WrongStore other({listed[0], {"n", 1}}, absl::NotFoundError("404"), own);
  EXPECT_THAT(refresh(other).ToString(), HasSubstr("kv-pos-mnist/1: "));
  EXPECT_EQ(other.sent, 1) << "the listing has changed";
  other.text = 'y';
  for (int i = 0; i < 2; ++i) refresh(other).IgnoreError();
  EXPECT_EQ(refresh(other), absl::NotFoundError("n/1: 404")) << "a known fault is not repeated beside others";
  EXPECT_FALSE(damaged_.only_known);
}

// The source has no kv-pos-mnist/2, but another version of this model. Therefore a refresh with `remove` removes
// kv-pos-mnist/2 from the copy, even if the refresh skips another version (n/1). The source has no version of m, so m/1
// stays.
TEST_F(Mirror, ReplacedVersionsAreRemovedDespiteSkippedVersions) {
  CopyVersion();
  folder_.Write("own/kv-pos-mnist/2/manifest.textproto", "");
  std::filesystem::create_directories(root_ / "m");
  std::filesystem::copy(kBundled, root_ / "m/1");
  const std::string last = ReadFile(root_ / "m/1/manifest.textproto");
  folder_.Write("own/m/1/manifest.textproto", absl::StrReplaceAll(last, {{"kv-pos-mnist", "m"}}));
  folder_.Write("own/.pull/refreshed", "3 versions of s3://models/production\n");
  const std::vector<VersionId> source = {{"kv-pos-mnist", 1}, {"n", 1}};
  for (const bool remove : {false, true}) {
    EXPECT_FALSE(Refresh(source, remove, "no manifest").ok());
    EXPECT_EQ(IsThere("kv-pos-mnist/2"), !remove);
    EXPECT_TRUE(IsThere("kv-pos-mnist/1"));
    EXPECT_TRUE(IsThere("m/1")) << "nothing has replaced it";
  }
}

// If the copy has no room for a new version, a refresh with `remove` must first remove a version that the source no
// longer has. Otherwise a full copy would keep the old version and never get its replacement.
TEST_F(Mirror, AVersionRemovedFromTheSourceMakesRoom) {
  constexpr int64_t kRoomForOne = 300'000;
  CopyVersion();
  folder_.Write("own/.pull/lock", "");
  const std::string next = absl::StrReplaceAll(folder_.Read("own/kv-pos-mnist/1/manifest.textproto"),
                                               {{"\nversion: 1\n", "\nversion: 2\n"}});
  const std::vector<VersionId> both = {{"kv-pos-mnist", 1}, {"kv-pos-mnist", 2}}, second = {{"kv-pos-mnist", 2}};
  EXPECT_EQ(Refresh(both, /*remove=*/true, next, "", kRoomForOne).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Refresh(second, /*remove=*/false, next, "", kRoomForOne).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Refresh(second, /*remove=*/true, next, "", 1).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(IsThere("kv-pos-mnist/1")) << "there would be too little room without it as well";
  EXPECT_EQ(Refresh(second, /*remove=*/true, next, "", kRoomForOne).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(IsThere("kv-pos-mnist/1"));
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
