// SPDX-License-Identifier: Apache-2.0
// Tests merging shards that are missing, unfinished, or contain images of other shards.
#include "client/eval/run/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/eval/eval_gates.h"
#include "client/eval/journal.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

class Merging : public ::testing::Test {
 protected:
  // Divides nine images into `of` shards, and writes shard `number` without its last `lacking` images. Returns the
  // shard's folder.
  std::string Part(int number, int of, size_t lacking = 0) {
    Evaluation e = MadeEvaluation(std::vector<MadeImage>(9, {0, {{0, 0.5F}}}));
    e.settings.data_order = "o";
    e.settings.shard = {number, of};
    std::string text = HeaderLine(e) + SessionLine(e.sessions[0], /*closed=*/false);
    std::vector<int64_t> chosen = ChosenImages(e.settings);
    chosen.resize(chosen.size() - lacking);
    for (const int64_t index : chosen) text += ImageLine(e.predictions[static_cast<size_t>(index)]);
    const std::string name = absl::StrCat("part", number, "of", of);
    folder_.Write(name + "/journal", text);
    return folder_.Path(name);
  }
  std::string Refusal(const std::vector<std::string>& folders) {
    return std::string(MergeEvaluations({.folders = folders, .out = folder_.Path("out")}).status().message());
  }

  const ScratchFolder folder_;
};

TEST_F(Merging, KeepsTheSessionsOfTheShards) {
  const auto merged =
      MergeEvaluations({.folders = {Part(2, 2), Part(1, 2)}, .out = folder_.Path("out"), .allow_missing = false});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->predictions.size(), 9u);
  EXPECT_EQ(merged->expected, 9);
  EXPECT_EQ(merged->settings.shard, (Shard{1, 1}));
  EXPECT_EQ(merged->data, "imagefolder:pets");
  EXPECT_EQ(merged->settings.data_order, "o");
  ASSERT_EQ(merged->sessions.size(), 2u);
  EXPECT_EQ(merged->sessions[0].images, 5);
  EXPECT_EQ(merged->sessions[0].end, 1009);
  EXPECT_EQ(merged->sessions[1].images, 4);
}

TEST_F(Merging, AnImpossibleGateIsRefusedBeforeAnyFileIsWritten) {
  MergeOptions options{.folders = {Part(1, 1)}, .out = folder_.Path("out")};
  options.gates = {ParseGate("top5>=50%", EvalGateMeasures()).value()};
  EXPECT_THAT(std::string(MergeEvaluations(options).status().message()), ::testing::HasSubstr("m has 3 classes"));
  EXPECT_FALSE(std::filesystem::exists(options.out));
  options.gates = {ParseGate("top1>=50%", EvalGateMeasures()).value()};
  EXPECT_TRUE(MergeEvaluations(options).ok()) << "the merge itself must not evaluate the gates";
}

TEST_F(Merging, SaysWhichShardsAreMissingOrUnfinished) {
  constexpr char kRest[] = ". --allow-missing merges anyway";
  EXPECT_EQ(Refusal({}), "there is nothing to merge; give the --out folders of the shards");
  EXPECT_EQ(Refusal({Part(1, 3)}), absl::StrCat("shards 2/3, 3/3 are missing", kRest));
  EXPECT_EQ(Refusal({Part(1, 3), Part(2, 3)}), absl::StrCat("shard 3/3 is missing", kRest));
  const std::string whole = Part(1, 2), part = Part(2, 2, 1);
  EXPECT_EQ(Refusal({whole, part}), absl::StrCat(part, " lacks 1 images; the same command again continues", kRest));
  EXPECT_EQ(Refusal({part}),
            absl::StrCat("shard 1/2 is missing; ", part, " lacks 1 images; the same command again continues", kRest));
}

TEST_F(Merging, AnImageOfAnotherShardIsNamed) {
  const std::string first = Part(1, 2);
  Evaluation e = MadeEvaluation(std::vector<MadeImage>(9, {0, {{0, 0.5F}}}));
  folder_.Write("part1of2/journal", folder_.Read("part1of2/journal") + ImageLine(e.predictions[3]));
  EXPECT_EQ(Refusal({first, Part(2, 2)}), absl::StrCat(first, " has image 3, cat/3.png, which is not of shard 1/2"));
}

TEST_F(Merging, ShardsOfDifferentCountsAreRefused) {
  const std::string first = Part(1, 2), second = Part(2, 3);
  EXPECT_EQ(Refusal({first, second}), absl::StrCat(second, " is shard 2/3, ", first, " is 1/2"));
}

}  // namespace
}  // namespace vitrine
