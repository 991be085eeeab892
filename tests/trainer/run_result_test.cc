// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_result.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/data/digest.h"
#include "common/simd/cpu_description.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/program_digest.h"
#include "trainer/tasks/image_task.h"
#include "trainer/watch/history_writer.h"

namespace vitrine {
namespace {

// Trains the recipe and returns its result.json.
nlohmann::json ResultOf(const v1::Recipe& recipe, int threads) {
  const ScratchFolder folder;
  const auto task = ImageTask::Make(recipe, kTrainSquares, &kTestSquares);
  EXPECT_TRUE(task.ok()) << task.status();
  const auto history = HistoryWriter::Open(folder.path());
  EXPECT_TRUE(history.ok()) << history.status();
  const auto result =
      Train(recipe, **task, {.work_dir = folder.path(), .threads = threads, .observers = {history->get()}});
  EXPECT_TRUE(result.ok()) << result.status();
  const auto score = (*task)->MeasureOn(MeasuredSplit::kTest, *result->model, {});
  EXPECT_TRUE(score.ok()) << score.status();
  const absl::Status written = WriteRunResult(folder.path(), recipe, *result, {*score}, "0123\xff");
  EXPECT_TRUE(written.ok()) << written;
  return nlohmann::json::parse(std::ifstream(folder.path() / "result.json"));
}

TEST(RunResult, HasEverythingThatDeterminesItsScores) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(1);
  recipe.set_storage(v1::Recipe::BF16);
  const nlohmann::json json = ResultOf(recipe, 2);
  EXPECT_EQ(json["recipe"], "small");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["data_digest"], *ContentDigestOf(kTrainSquares));
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["processes"], 1);
  EXPECT_EQ(json["cpu"], cpu::CpuDescription());
  EXPECT_NE(json["kernels"], "");
  EXPECT_EQ(json["storage"], "bf16");
  EXPECT_EQ(json["program"], ProgramDigest());
  EXPECT_EQ(ProgramDigest().size(), 64u);
  EXPECT_EQ(json["revision"], "0123\uFFFD");  // invalid UTF-8 is replaced
}

TEST(RunResult, HasTheRatioOfLastToFirstBlockNorm) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(1);
  EXPECT_FALSE(ResultOf(recipe, 1)["scores"].contains("gradient/last-by-first"));
  recipe.set_block_norms(true);
  EXPECT_GT(ResultOf(recipe, 1)["scores"].at("gradient/last-by-first"), 0);
}

TEST(RunResult, HasTheStepOfTheBestModel) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_validation_share(0.25);
  recipe.set_evaluate_every(1);
  recipe.mutable_optimizer()->set_lr(1e-8);  // so small that all scores are equal; the first counts as the best
  const nlohmann::json json = ResultOf(recipe, 1);
  EXPECT_EQ(json["model"], "best");
  EXPECT_EQ(json["best"], nlohmann::json::parse(R"({"epochs":1.0,"steps":4})"));
  EXPECT_EQ(json["epochs"], 4.0) << "as steps, samples and seconds: of the whole run";
  EXPECT_EQ(json["steps"], 16);
  const double validation = json["scores"].at("validation/top1");
  EXPECT_DOUBLE_EQ(validation * 24, std::round(validation * 24)) << "of the 24 held-out images";
  EXPECT_FALSE(json["scores"].contains("test-best/top1"));
}

}  // namespace
}  // namespace vitrine
