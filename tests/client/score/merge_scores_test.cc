// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/client/score/scoring.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MergingScores : public Scoring {
 protected:
  // Scores shard `number` of three into the folder `out`.
  ScoreIndex RunShard(int64_t number, const std::string& out, const std::string& digest = kDigest, int64_t of = 3) {
    SmallServer server(Methods([&](const auto& request) { return Answer(request, digest); }, Described(digest)));
    ScoreCommand command = Command(server, out);
    command.shard = {number, of};
    return RunWell(command);
  }
  absl::StatusOr<ScoreIndex> Merge(const std::vector<std::string>& folders) {
    MergeScoresOptions options{.out = folder_.Path("merged")};
    for (const std::string& folder : folders) options.folders.push_back(folder_.Path(folder));
    return MergeScores(options);
  }
  std::string Refused(const std::vector<std::string>& folders) {
    const auto merged = Merge(folders);
    EXPECT_FALSE(merged.ok());
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "merged/index.json"));
    return std::string(merged.status().message());
  }
};

TEST_F(MergingScores, AllShardsEqualOneRun) {
  for (int i = 1; i <= 3; ++i) RunShard(i, absl::StrCat("part", i));
  RunShard(1, "whole", kDigest, 1);
  folder_.Write("merged/chunk-0000000000.jsonl", "of a merge that was killed");
  const auto merged = Merge({"part3", "part1", "part2"});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_TRUE(CountScores(*merged).complete());
  ExpectEachOnce("merged");
  EXPECT_EQ(Rows("merged"), Rows("whole"));
  const auto again = ReadScoreIndex(folder_.Path("merged"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->chunks.size(), 6u) << "each of ten images";
  EXPECT_THAT(std::string(Merge({"part1", "part2", "part3"}).status().message()), HasSubstr("holds scores"));
}

TEST_F(MergingScores, MissingAndOverlappingImagesAreRefused) {
  RunShard(1, "part1");
  RunShard(3, "part3");
  EXPECT_THAT(Refused({"part1", "part3"}), HasSubstr("images 10 to 19 are in no part"));
  EXPECT_THAT(Refused({"part1"}), HasSubstr("images 10 to 29 are in no part"));
  EXPECT_THAT(Refused({"part1", "part1", "part3"}),
              AllOf(HasSubstr("part1 (shard 1/3)"), HasSubstr("both have image 0")));
  RunShard(1, "half", kDigest, 2);
  EXPECT_THAT(Refused({"part1", "half", "part3"}), HasSubstr("both have image 0"));
  ScoreIndex index = RunShard(2, "part2");
  index.chunks.pop_back();
  ASSERT_TRUE(WriteScoreIndex(folder_.Path("part2"), index).ok());
  EXPECT_THAT(Refused({"part1", "part2", "part3"}),
              AllOf(HasSubstr("part2 has 8 of 10 rows"), HasSubstr("the same command again")));
  EXPECT_THAT(Refused({"part1", "data"}), HasSubstr("data holds no scores"));
}

// A shard has no precision if all its images failed.
TEST_F(MergingScores, PartsOfTwoPrecisionsAreRefused) {
  for (int i = 1; i <= 3; ++i) {
    ScoreIndex index = RunShard(i, absl::StrCat("part", i));
    index.settings.precision = i == 1 ? "" : i == 2 ? "fp32" : "bf16";
    ASSERT_TRUE(WriteScoreIndex(folder_.Path(absl::StrCat("part", i)), index).ok());
  }
  EXPECT_THAT(Refused({"part1", "part2", "part3"}), HasSubstr("the precision of the model was fp32, now it is bf16"));
}

TEST_F(MergingScores, PartsOfOtherRunsAreRefused) {
  RunShard(1, "part1");
  RunShard(2, "part2");
  RunShard(3, "other", std::string(64, 'e'));
  EXPECT_THAT(Refused({"part1", "part2", "other"}),
              AllOf(HasSubstr("are not shards of one run: the digest of the weights was"), HasSubstr("in the second")));
  folder_.Write("data/200.png", ImageFile(1, 1));
  RunShard(3, "more");
  EXPECT_THAT(Refused({"part1", "part2", "more"}),
              HasSubstr("the number of images in the source was 30, now it is 31"));
}

}  // namespace
}  // namespace vitrine
