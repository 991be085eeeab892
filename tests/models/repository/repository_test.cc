// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "common/sha256.h"
#include "models/repository/manifest.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "tests/models/repository/sample_version.h"
#include "tests/without_rights.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class RepositoryTest : public testing::Test {
 protected:
  RepositoryTest() { EXPECT_EQ(*Publish(root_, "sample", SampleDraft(1)), (VersionId{"sample", 1})); }

  absl::StatusOr<StoredVersion> Read() { return ReadVersion(root_, {"sample", 1}); }
  void EditManifest(const std::function<void(v1::Manifest&)>& edit) {
    v1::Manifest manifest = *ParseManifest(ReadFile(folder_ / kManifestFile));
    edit(manifest);
    WriteFile(folder_ / kManifestFile, FormatManifest(manifest));
  }
  // Replaces a file and its digest in the manifest, as a faulty tool would.
  void Forge(const std::string& name, const std::string& bytes) {
    WriteFile(folder_ / name, bytes);
    EditManifest([&](v1::Manifest& manifest) {
      for (v1::FileDigest& file : *manifest.mutable_files()) {
        if (file.name() != name) continue;
        file.set_bytes(static_cast<int64_t>(bytes.size()));
        file.set_sha256(Sha256Hex(bytes));
      }
    });
  }

  ScratchFolder scratch_{FastParent()};
  fs::path root_ = scratch_.path() / "repository";
  fs::path folder_ = root_ / "sample/1";
};

TEST_F(RepositoryTest, ReadsBackAPublishedVersion) {
  const auto version = Read();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(FillOf(*version), 1);
  EXPECT_THAT(version->labels, ElementsAre("cat", "dog", "Zürich"));
  EXPECT_EQ(version->extra_files.at("model_card.md"), "# A card\n");
  EXPECT_EQ(version->manifest.model(), "sample");
  EXPECT_EQ(version->weights_sha256, Sha256Hex(ReadFile(folder_ / kWeightsFile)));
  EXPECT_EQ(ReadManifest(root_, {"sample", 1})->SerializeAsString(), version->manifest.SerializeAsString());
}

TEST_F(RepositoryTest, SelectingAMissingVersionIsNotFound) {
  EXPECT_EQ(*FindOneVersion(root_, "sample@1"), (VersionId{"sample", 1}));
  for (const char* which : {"sample@2", "other@1"}) {
    EXPECT_THAT(FindOneVersion(root_, which),
                Fails(absl::StatusCode::kNotFound, HasSubstr("`vitrine-repo list " + root_.string() + "`")));
  }
}

TEST_F(RepositoryTest, ListsOnlyCompleteVersions) {
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(2)).ok());
  ASSERT_TRUE(Publish(root_, "other", SampleDraft(3)).ok());
  fs::create_directories(root_ / "sample/7");               // half-copied: no manifest yet
  fs::create_directories(root_ / "sample/08");              // not a version's name
  fs::create_directories(root_ / "sample/.tmp-1-2");        // left by a dead publisher
  fs::create_directories(root_ / "not a model/1");          // not a model's name
  fs::create_directory_symlink("1", root_ / "sample/9");    // a link
  fs::create_directory_symlink("sample", root_ / "alias");  // a link
  fs::create_directories(root_ / "sample/10/manifest.textproto");
  WriteFile(root_ / "README", "a file");
  WriteFile(root_ / "not a model/1/manifest.textproto", "");
  WriteFile(root_ / "sample/08/manifest.textproto", "");
  WriteFile(root_ / "sample/.tmp-1-2/manifest.textproto", "");
  EXPECT_THAT(*ListVersions(root_), ElementsAre(VersionId{"other", 1}, VersionId{"sample", 1}, VersionId{"sample", 2}));
}

TEST_F(RepositoryTest, LinksAreListedAsIgnored) {
  fs::create_directory_symlink("1", root_ / "sample/9");
  fs::create_directory_symlink("nowhere", root_ / "sample/10");
  fs::create_directory_symlink("1", root_ / "sample/latest");  // not a version's name
  fs::create_directory_symlink("sample", root_ / "alias");
  fs::create_directory_symlink("nowhere", root_ / "gone");
  fs::create_directory_symlink("sample", root_ / ".hidden");
  fs::create_symlink("sample/1/labels.txt", root_ / "README");  // a link to a file
  fs::create_directories(root_ / "sample/11");
  fs::create_symlink("../1/manifest.textproto", root_ / "sample/11/manifest.textproto");
  const auto listing = ListRepository(root_);
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(listing->versions, ElementsAre(VersionId{"sample", 1}));
  EXPECT_THAT(listing->links, ElementsAre("alias", "gone", "sample/10", "sample/11/manifest.textproto", "sample/9"));
  EXPECT_THAT(PassedOver("sample/9"), HasSubstr("sample/9 is a symbolic link and is ignored"));
  fs::create_directory_symlink(root_, scratch_.path() / "current");
  EXPECT_THAT(*ListVersions(scratch_.path() / "current"), ElementsAre(VersionId{"sample", 1}));
  EXPECT_TRUE(ReadVersion(scratch_.path() / "current", {"sample", 1}).ok());
}

TEST_F(RepositoryTest, TheNumberOfARemovedVersionIsNotReused) {
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(2)).ok());
  ASSERT_TRUE(RemoveVersion(root_, {"sample", 2}).ok());
  EXPECT_THAT(*ListVersionFolders(root_), ElementsAre(VersionId{"sample", 1}));
  EXPECT_THAT(Entries(root_ / "sample"), testing::UnorderedElementsAre("1", ".highest-version"));
  EXPECT_EQ(Publish(root_, "sample", SampleDraft(3))->version, 3);
  // A version number is not reused, even if only a folder shows that it was used.
  fs::remove(root_ / "sample/.highest-version");
  fs::create_directories(root_ / "sample/8");
  ASSERT_TRUE(RemoveVersion(root_, {"sample", 8}).ok()) << "one that is not complete";
  EXPECT_EQ(Publish(root_, "sample", SampleDraft(4))->version, 9);
  EXPECT_EQ(RemoveVersion(root_, {"sample", 8}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(RemoveVersion(root_, {"absent", 1}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(RemoveVersion(root_, {"..", 1}).code(), absl::StatusCode::kInvalidArgument);
  fs::create_directory_symlink("1", root_ / "sample/12");
  EXPECT_EQ(RemoveVersion(root_, {"sample", 12}).code(), absl::StatusCode::kNotFound) << "a link";
  fs::remove(root_ / "sample/.highest-version");
  ASSERT_TRUE(RemoveVersion(root_, {"sample", 3}).ok());
  EXPECT_FALSE(fs::exists(root_ / "sample/.highest-version")) << "9 shows the highest number, and the disk may be full";
}

// While a large version is copied file by file, repeated scans must not read all of it each time.
TEST_F(RepositoryTest, AnIncompleteCopyIsRefusedBeforeItIsRead) {
  Forge(kWeightsFile, "not safetensors");  // would be rejected if it were read
  const std::string golden = ReadFile(folder_ / kGoldenFile);
  WriteFile(folder_ / kGoldenFile, golden.substr(0, golden.size() / 2));
  EXPECT_THAT(Read(), Fails(kRefused, AllOf(HasSubstr(kGoldenFile), HasSubstr("copied incompletely"))));
}

TEST_F(RepositoryTest, AVanishedRootIsUnavailable) {
  fs::remove_all(root_);
  EXPECT_THAT(ListVersions(root_), Fails(absl::StatusCode::kUnavailable, HasSubstr("repository")));
  EXPECT_THAT(Read(), Fails(absl::StatusCode::kUnavailable, HasSubstr("sample/1")));
}

TEST_F(RepositoryTest, AnUnreadableModelDoesNotHideTheOthers) {
  ASSERT_TRUE(Publish(root_, "other", SampleDraft(3)).ok());
  ASSERT_TRUE(Publish(root_, "hidden", SampleDraft(4)).ok());
  fs::permissions(root_ / "hidden", fs::perms::none);
  fs::permissions(folder_, fs::perms::none);
  const WithoutRights without;
  const auto listing = ListRepository(root_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  // An unreadable version is listed, because it may be valid.
  EXPECT_THAT(listing->versions, ElementsAre(VersionId{"other", 1}, VersionId{"sample", 1}));
  EXPECT_EQ(listing->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(listing->status().message()), HasSubstr("hidden"));
  EXPECT_THAT(Read(), Fails(absl::StatusCode::kPermissionDenied, HasSubstr("sample/1")));
  fs::permissions(root_ / "hidden", fs::perms::owner_all);
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_TRUE(ListRepository(root_)->status().ok());
}

TEST_F(RepositoryTest, InvalidIdsOpenNoFile) {
  for (const std::string& model :
       {std::string(".."), std::string("../repository"), std::string("/etc"), std::string("sample\0", 7),
        std::string("sämple"), std::string("a/b"), std::string(65, 'a'), std::string()}) {
    EXPECT_THAT(ReadVersion(root_, {model, 1}), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("model name")));
  }
  EXPECT_THAT(ReadVersion(root_, {"sample", 0}), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("positive")));
  EXPECT_THAT(ReadVersion(root_, {"sample", -1}), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("positive")));
  EXPECT_THAT(ReadVersion(root_, {"sample", 2}), Fails(absl::StatusCode::kNotFound, HasSubstr("sample/2")));
  EXPECT_THAT(ReadVersion(root_, {"absent", 1}), Fails(absl::StatusCode::kNotFound, HasSubstr("absent/1")));
}

TEST_F(RepositoryTest, SymbolicLinksAreNotFollowed) {
  fs::rename(root_ / "sample", scratch_.path() / "elsewhere");
  fs::create_directory_symlink(scratch_.path() / "elsewhere", root_ / "sample");
  EXPECT_THAT(Read(), Fails(kRefused, HasSubstr("symbolic link")));
  fs::remove(root_ / "sample");
  fs::rename(scratch_.path() / "elsewhere", root_ / "sample");
  ASSERT_TRUE(Read().ok());
  for (const char* name : {kWeightsFile, kManifestFile, kLabelsFile}) {
    fs::rename(folder_ / name, scratch_.path() / name);
    fs::create_symlink(scratch_.path() / name, folder_ / name);
    EXPECT_THAT(Read(), Fails(kRefused, AllOf(HasSubstr("sample/1"), HasSubstr(name), HasSubstr("symbolic link"))));
    fs::remove(folder_ / name);
    fs::rename(scratch_.path() / name, folder_ / name);
  }
}

TEST_F(RepositoryTest, EveryFileIsRequired) {
  for (const std::string& name : Entries(folder_)) {
    fs::rename(folder_ / name, scratch_.path() / name);
    EXPECT_THAT(Read(), Fails(kRefused, AllOf(HasSubstr(name), HasSubstr("missing"))));
    fs::rename(scratch_.path() / name, folder_ / name);
  }
  EXPECT_TRUE(Read().ok());
}

TEST_F(RepositoryTest, EveryChangedByteOfEveryFileIsDetected) {
  for (const std::string& name : Entries(folder_)) {
    if (name == kManifestFile) continue;
    const std::string whole = ReadFile(folder_ / name);
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
      WriteFile(folder_ / name, flipped);
      ASSERT_THAT(Read(), Fails(kRefused, AllOf(HasSubstr(name), HasSubstr("SHA-256")))) << "byte " << i;
    }
    WriteFile(folder_ / name, whole);
  }
}

TEST_F(RepositoryTest, TheManifestMustMatchItsFolder) {
  fs::copy(folder_, root_ / "sample/2", fs::copy_options::recursive);
  EXPECT_THAT(ReadVersion(root_, {"sample", 2}), Fails(kRefused, HasSubstr("belongs to sample/1")));
  fs::copy(root_ / "sample", root_ / "copy", fs::copy_options::recursive);
  EXPECT_THAT(ReadVersion(root_, {"copy", 1}), Fails(kRefused, HasSubstr("belongs to sample/1")));
}

TEST_F(RepositoryTest, AManifestCannotNameFilesElsewhere) {
  EditManifest([](v1::Manifest& manifest) { manifest.mutable_files(0)->set_name("../1/labels.txt"); });
  EXPECT_THAT(Read(), Fails(kRefused, AllOf(HasSubstr(kManifestFile), HasSubstr("plain file name"))));
}

TEST_F(RepositoryTest, ContentIsValidatedEvenIfItsDigestMatches) {
  Safetensors spoilt;
  spoilt.tensors = SampleDraft(std::nanf("")).weights.tensors;
  Forge(kWeightsFile, *WriteSafetensors(spoilt));
  EXPECT_THAT(Read(), Fails(kRefused, HasSubstr("weights.safetensors: tensor \"weight\" holds NaN")));
  Forge(kWeightsFile, "not safetensors");
  EXPECT_THAT(Read(), Fails(kRefused, HasSubstr("weights.safetensors: the header has")));
  Forge(kWeightsFile, *WriteSafetensors(SampleDraft(1).weights));
  ASSERT_TRUE(Read().ok());
  Forge(kLabelsFile, "cat\ndog\n");
  EXPECT_THAT(Read(), Fails(kRefused, HasSubstr("labels.txt has 2 labels, the model has 3 classes")));
  Forge(kLabelsFile, "cat\ndog\n\xff\n");
  EXPECT_THAT(Read(), Fails(kRefused, HasSubstr("labels.txt: line 3")));
}

TEST_F(RepositoryTest, ErrorsDoNotRevealTheRepositoryPath) {
  WriteFile(folder_ / kWeightsFile, "short");
  EXPECT_THAT(Read(), Fails(kRefused, testing::Not(HasSubstr(scratch_.path().string()))));
}

}  // namespace
}  // namespace vitrine
