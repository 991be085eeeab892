// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "models/repository/manifest.h"
#include "models/repository/safe_file.h"
#include "models/repository/stored_version.h"
#include "tests/models/repository/sample_version.h"
#include "tests/without_rights.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class PublishTest : public testing::Test {
 protected:
  void Refused(const Draft& draft, const std::string& message) {
    const auto published = Publish(root_, "sample", draft);
    EXPECT_FALSE(published.ok());
    EXPECT_THAT(std::string(published.status().message()),
                AllOf(HasSubstr("nothing was published as sample"), HasSubstr(message)));
    EXPECT_FALSE(fs::exists(root_)) << "a refused draft must not touch the disk";
  }

  ScratchFolder scratch_{FastParent()};
  fs::path root_ = scratch_.path() / "new/repository";
};

TEST_F(PublishTest, CountsVersionsFromOneAndCreatesTheRepository) {
  EXPECT_EQ(*Publish(root_, "sample", SampleDraft(1)), (VersionId{"sample", 1}));
  EXPECT_EQ(*Publish(root_, "sample", SampleDraft(2)), (VersionId{"sample", 2}));
  EXPECT_EQ(*Publish(root_, "other", SampleDraft(3)), (VersionId{"other", 1}));
  EXPECT_EQ(FillOf(*ReadVersion(root_, {"sample", 1})), 1);
  EXPECT_EQ(FillOf(*ReadVersion(root_, {"sample", 2})), 2);
  EXPECT_THAT(Entries(root_ / "sample"), ElementsAre(".highest-version", "1", "2"));
}

TEST_F(PublishTest, NeverReusesTheNumberOfAnIncompleteVersion) {
  fs::create_directories(root_ / "sample/4");  // a manual copy in progress
  EXPECT_EQ(Publish(root_, "sample", SampleDraft(1))->version, 5);
  fs::create_directories(root_ / "sample/9223372036854775807");
  EXPECT_THAT(Publish(root_, "sample", SampleDraft(1)),
              Fails(absl::StatusCode::kResourceExhausted, HasSubstr("no version number is left")));
  EXPECT_THAT(Entries(root_ / "sample"), Not(Contains(testing::StartsWith(".tmp"))));
  EXPECT_EQ(RemoveVersion(root_, {"sample", std::numeric_limits<int64_t>::max()}), absl::OkStatus());
}

TEST_F(PublishTest, CountsFromTheFoldersIfTheHighestVersionIsNotStored) {
  for (int version = 1; version <= 2; ++version) ASSERT_TRUE(Publish(root_, "sample", SampleDraft(1)).ok());
  fs::remove(root_ / "sample/.highest-version");
  EXPECT_EQ(Publish(root_, "sample", SampleDraft(2))->version, 3);
  WriteFile(root_ / "sample/.highest-version", "7 or so");
  EXPECT_THAT(Publish(root_, "sample", SampleDraft(2)),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr(".highest-version holds \"7 or so\"")));
}

TEST_F(PublishTest, NamesTheFolderThatCannotBeWritten) {
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(1)).ok());
  fs::permissions(root_ / "sample", fs::perms::owner_read | fs::perms::owner_exec);
  const WithoutRights without;
  EXPECT_THAT(Publish(root_, "sample", SampleDraft(1)),
              Fails(absl::StatusCode::kPermissionDenied,
                    HasSubstr(absl::StrCat("nothing was published as sample in \"", root_.native(), "\": "))));
  EXPECT_THAT(std::string(RemoveVersion(root_, {"sample", 1}).message()),
              HasSubstr(absl::StrCat("sample/1 was not removed from \"", root_.native(), "\": ")));
  fs::permissions(root_ / "sample", fs::perms::owner_all);
}

TEST_F(PublishTest, EqualDraftsGiveEqualFiles) {
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(1)).ok());
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(1)).ok());
  for (const std::string& name : Entries(root_ / "sample/1")) {
    if (name != kManifestFile) {
      EXPECT_EQ(ReadFile(root_ / "sample/1" / name), ReadFile(root_ / "sample/2" / name)) << name;
    }
  }
}

TEST_F(PublishTest, ARepublishedVersionKeepsItsBytes) {
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(1)).ok());
  const auto version = ReadVersion(root_, {"sample", 1});
  const Draft draft = {version->manifest, version->weights, version->golden, version->labels, version->extra_files};
  ASSERT_TRUE(Publish(root_, "copy", draft).ok());
  EXPECT_EQ(ReadVersion(root_, {"copy", 1})->weights_sha256, version->weights_sha256);
  EXPECT_EQ(ReadFile(root_ / "copy/1/model_card.md"), "# A card\n");
}

TEST_F(PublishTest, RefusesInvalidDraftsBeforeWriting) {
  EXPECT_THAT(Publish(root_, "../x", SampleDraft(1)), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("\"../x\"")));
  Draft draft = SampleDraft(std::nanf(""));
  Refused(draft, "NaN");
  draft = SampleDraft(1);
  draft.labels.pop_back();
  Refused(draft, "2 labels for 3 classes");
  draft = SampleDraft(1);
  draft.labels[1] = "two\nlines";
  Refused(draft, "control character");
  draft = SampleDraft(1);
  draft.extra_files["../../x"] = "";
  Refused(draft, "plain file name");
  draft = SampleDraft(1);
  draft.extra_files[kWeightsFile] = "";
  Refused(draft, "name of another file");
  draft = SampleDraft(1);
  draft.extra_files[kManifestFile] = "";
  Refused(draft, "manifest itself");
  draft = SampleDraft(1);
  draft.manifest.clear_golden_tolerances();
  Refused(draft, "golden_tolerances");
  draft = SampleDraft(1);
  draft.weights.tensors["__metadata__"] = {};
  Refused(draft, "reserved");
}

TEST_F(PublishTest, CheckPublishablePredictsFailures) {
  ASSERT_TRUE(CheckPublishable(root_, "sample", 1000).ok());
  EXPECT_THAT(Entries(root_), ElementsAre()) << "nothing is left of the trial";
  EXPECT_FALSE(CheckPublishable(root_, "sample", int64_t{1} << 60).ok());
  EXPECT_THAT(Entries(root_), ElementsAre()) << "nor of a refused one";
  EXPECT_TRUE(ListVersions(root_)->empty());
  ASSERT_TRUE(Publish(root_, "sample", SampleDraft(1)).ok());
  ASSERT_TRUE(CheckPublishable(root_, "sample").ok());
  EXPECT_THAT(Entries(root_ / "sample"), ElementsAre(".highest-version", "1"));
  EXPECT_THAT(CheckPublishable(root_, "a/b"), Refuses(absl::StatusCode::kInvalidArgument, HasSubstr("\"a/b\"")));
  EXPECT_THAT(CheckPublishable(root_, "sample", int64_t{1} << 60),
              Refuses(absl::StatusCode::kResourceExhausted, HasSubstr("MB free, and a version takes about")));
  WriteFile(scratch_.path() / "file", "no folder");
  EXPECT_THAT(Publish(scratch_.path() / "file/models", "sample", SampleDraft(1)).status(),
              Refuses(absl::StatusCode::kNotFound, HasSubstr("file/models: Not a directory")));
  EXPECT_THAT(CheckPublishable(scratch_.path() / "file", "sample"),
              Refuses(absl::StatusCode::kNotFound, AllOf(HasSubstr("nothing could be published as sample"),
                                                         HasSubstr("file"), HasSubstr("Not a directory"))));
}

TEST_F(PublishTest, ALinkAsModelFolderIsNotFollowed) {
  fs::create_directories(root_);
  fs::create_directories(scratch_.path() / "elsewhere");
  fs::create_directory_symlink(scratch_.path() / "elsewhere", root_ / "sample");
  EXPECT_THAT(Publish(root_, "sample", SampleDraft(1)),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("symbolic link")));
  EXPECT_THAT(Entries(scratch_.path() / "elsewhere"), ElementsAre());
}

TEST_F(PublishTest, ConcurrentPublishersGetDistinctVersions) {
  constexpr int kThreads = 8;
  constexpr int kEach = 5;
  std::vector<std::vector<VersionId>> published(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const auto id = Publish(root_, "sample", SampleDraft(static_cast<float>(t * kEach + i)));
          if (id.ok()) published[t].push_back(*id);
        }
      });
    }
  }
  std::set<int64_t> numbers;
  for (int t = 0; t < kThreads; ++t) {
    ASSERT_EQ(published[t].size(), size_t{kEach}) << "a publisher failed because of another";
    for (int i = 0; i < kEach; ++i) {
      EXPECT_TRUE(numbers.insert(published[t][i].version).second);
      EXPECT_EQ(FillOf(*ReadVersion(root_, published[t][i])), t * kEach + i) << "versions were mixed up";
    }
  }
  EXPECT_EQ(*numbers.begin(), 1);
  EXPECT_EQ(*numbers.rbegin(), kThreads * kEach) << "a number was left out";
  EXPECT_EQ(Entries(root_ / "sample").size(), numbers.size() + 1) << "temporary folders were left behind";
}

}  // namespace
}  // namespace vitrine
