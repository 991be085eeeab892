// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/data/formats/image_folder.h"
#include "models/repository/files/safetensors.h"
#include "tests/read_file.h"
#include "tests/trainer/small_run.h"
#include "trainer/evaluate.h"
#include "trainer/loop.h"
#include "trainer/recipe/recipe.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Train, AClassOnlyInTheTestSplitIsRefused) {
  ScratchFolder folder;
  WriteImageFolder(kTrainSquares, folder.path() / "train");
  WriteImageFolder(kTestSquares, folder.path() / "test");
  folder.Write("test/yellow/1.png", *kTestSquares.encoded(0));
  const auto train = *OpenImageFolder(folder.path(), Split::kTrain),
             test = *OpenImageFolder(folder.path(), Split::kTest);
  const absl::Status refused = ImageTask::Make(SmallRecipe(), *train, test.get()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the test split has the class \"yellow\""));
}

TEST(Train, LearnsColours) {
  ScratchFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(10);
  const auto result = RunIn(folder, recipe);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->finished);
  EXPECT_EQ(result->position.samples, 960);
  EXPECT_DOUBLE_EQ(result->epochs, 10);
  for (const Size size : {Size{16, 16}, Size{8, 16}, Size{16, 8}}) {
    const auto accuracy = Evaluate(dynamic_cast<const Model&>(*result->model), kTestSquares, size);
    ASSERT_TRUE(accuracy.ok());
    EXPECT_GE(accuracy->top1(), 0.9) << ToString(size);
  }
}

TEST(Train, OneSeedAlwaysGivesTheSameBits) {
  ScratchFolder first, second, third;
  const auto a = RunIn(first, SmallRecipe()), b = RunIn(second, SmallRecipe());
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  ExpectSameWeights(*a->model, *b->model);
  v1::Recipe other = SmallRecipe();
  other.set_seed(8);
  const auto c = RunIn(third, other);
  ASSERT_TRUE(c.ok());
  EXPECT_FALSE(at::equal(a->model->Parameters()[0].tensor, c->model->Parameters()[0].tensor));
}

TEST(Train, RefusesUnsuitableClassesSizesAndModels) {
  ScratchFolder folder;
  v1::Recipe classes = SmallRecipe();
  classes.mutable_model_overrides()->set_classes(4);
  EXPECT_THAT(std::string(RunIn(folder, classes).status().message()), HasSubstr("3 classes"));
  v1::Recipe size = SmallRecipe();
  size.mutable_sizes(0)->set_height(3);
  EXPECT_EQ(RunIn(folder, size).status().code(), absl::StatusCode::kInvalidArgument);
  v1::Recipe model = SmallRecipe();
  model.set_model("no-such-row");
  EXPECT_EQ(RunIn(folder, model).status().code(), absl::StatusCode::kNotFound);
}

// An observer that records its reports.
struct Listener final : Observer {
  void OnStart(const StartReport& report) override { starts.push_back(report); }
  void OnStep(const StepReport& report) override { steps.push_back(report); }
  void OnScore(const ScoreReport& report) override { scores.push_back(report); }
  void OnEpoch(const EpochReport& report) override { epochs.push_back(report); }
  std::vector<StartReport> starts;
  std::vector<StepReport> steps;
  std::vector<ScoreReport> scores;
  std::vector<EpochReport> epochs;
};

TEST(Train, NotifiesItsObservers) {
  ScratchFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(2);
  recipe.set_evaluate_every(2);
  Listener listener;
  ASSERT_TRUE(RunIn(folder, recipe, {.observers = {&listener}}).ok());
  ASSERT_EQ(listener.starts.size(), 1u);
  EXPECT_EQ(listener.starts[0].total_steps, 12);
  ASSERT_EQ(listener.steps.size(), 12u);
  EXPECT_EQ(listener.steps[4].step, 5);
  EXPECT_EQ(listener.steps[4].samples, 80);
  EXPECT_GT(listener.steps[4].gradient_norm, 0);
  EXPECT_TRUE(listener.starts[0].blocks.empty() && listener.steps[4].block_norms.empty()) << "nobody asked";
  EXPECT_NEAR(listener.steps[0].loss, listener.steps[0].epoch_loss, 1e-9);
  ASSERT_EQ(listener.epochs.size(), 2u);
  EXPECT_EQ(listener.epochs[0].scores, "") << "the test split is measured every second epoch";
  EXPECT_THAT(listener.epochs[1].scores, HasSubstr("test top1"));
  ASSERT_EQ(listener.scores.size(), 1u);
  EXPECT_EQ(listener.scores[0].step, 12);
  EXPECT_TRUE(listener.scores[0].best);
}

TEST(Train, AccumulatedBatchesEqualOneLargeBatch) {
  v1::Recipe whole = SmallRecipe(), parts = SmallRecipe();
  for (v1::Recipe* recipe : {&whole, &parts}) {
    recipe->set_dropout(0);
    recipe->set_epochs(1);
    recipe->mutable_optimizer()->set_kind(v1::Optimizer::SGD);  // Adam would amplify the rounding of tiny gradients
  }
  parts.set_batch(4);
  parts.set_accumulate(4);
  ScratchFolder first, second;
  Listener one, four;
  const auto a = RunIn(first, whole, {.observers = {&one}}), b = RunIn(second, parts, {.observers = {&four}});
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  ASSERT_EQ(one.steps.size(), four.steps.size());
  for (size_t i = 0; i < one.steps.size(); ++i) EXPECT_NEAR(one.steps[i].loss, four.steps[i].loss, 1e-5) << i;
}

TEST(Train, ReportsBlockGradientNormsBeforeClipping) {
  ScratchFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(1);
  recipe.set_clip_norm(1e-3);
  recipe.set_block_norms(true);
  Listener listener;
  ASSERT_TRUE(RunIn(folder, recipe, {.observers = {&listener}}).ok());
  EXPECT_THAT(listener.starts.at(0).blocks, ElementsAre("blocks.0", "blocks.1"));
  for (const StepReport& step : listener.steps) {
    ASSERT_EQ(step.block_norms.size(), 2u);
    const double both = std::hypot(step.block_norms[0], step.block_norms[1]);
    EXPECT_GT(std::min(step.block_norms[0], step.block_norms[1]), recipe.clip_norm());
    EXPECT_LT(both, step.gradient_norm) << "patches and head have gradients too";
  }
}

TEST(Train, EvaluatesTheAverageOfTheWeights) {
  v1::Recipe recipe = SmallRecipe();
  ScratchFolder plain_folder, folder, again;
  const auto plain = RunIn(plain_folder, recipe);
  recipe.set_ema_decay(0.9);
  recipe.set_evaluate_every(1);
  const auto averaged = RunIn(folder, recipe);
  ASSERT_TRUE(plain.ok() && averaged.ok()) << averaged.status();
  EXPECT_FALSE(at::equal(plain->model->Parameters()[0].tensor, averaged->model->Parameters()[0].tensor));
  EXPECT_TRUE(plain->others.empty());
  ASSERT_EQ(averaged->others.size(), 1u);
  EXPECT_EQ(averaged->others[0].name, "raw");
  ExpectSameWeights(*averaged->others[0].model, *plain->model);
  StopAfter stop(7);
  ASSERT_TRUE(RunIn(again, recipe, stop.options).ok());
  const auto resumed = RunIn(again, recipe, {.resume = true});
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ExpectSameWeights(*resumed->model, *averaged->model);
}

TEST(Train, HeldOutSamplesChooseTheBestState) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_validation_share(0.25);
  recipe.set_evaluate_every_steps(2);
  recipe.set_epochs(3);
  ScratchFolder folder;
  Listener listener;
  const auto result = RunIn(folder, recipe, {.observers = {&listener}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->is_best);
  EXPECT_EQ(listener.steps.size(), 12u) << "72 of 96 images are left: 4 steps an epoch";
  ASSERT_EQ(listener.scores.size(), 6u);
  double best = 0;
  for (const ScoreReport& report : listener.scores) {
    EXPECT_EQ(report.split, "validation");
    EXPECT_EQ(report.score.samples, 24);
    EXPECT_EQ(report.best, report.score.measures[0].value > best);
    best = std::max(best, report.score.measures[0].value);
  }
  EXPECT_EQ(result->position.best, best);
  EXPECT_DOUBLE_EQ(result->epochs, static_cast<double>(result->position.best_step) / 4);
  EXPECT_EQ(result->samples, result->position.best_step * 16);
  const auto task = ImageTask::Make(recipe, kTrainSquares, &kTestSquares);
  const auto score = (*task)->MeasureOn(MeasuredSplit::kValidation, *result->model, {});
  ASSERT_TRUE(score.ok());
  EXPECT_EQ(score->measures[0].value, best) << "the model returned is the one that was measured best";
  ASSERT_EQ(result->others.size(), 1u);
  EXPECT_EQ(result->others[0].name, "last");
  const auto last = (*task)->MeasureOn(MeasuredSplit::kValidation, *result->others[0].model, {});
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->measures[1].value, listener.scores.back().score.measures[1].value);
}

TEST(Train, HeldOutSamplesAreEvaluatedAtLeastAtTheEnd) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_validation_share(0.25);
  recipe.set_evaluate_every(100);
  ScratchFolder folder;
  Listener listener;
  const auto result = RunIn(folder, recipe, {.observers = {&listener}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->is_best);
  ASSERT_EQ(listener.scores.size(), 1u);
  EXPECT_EQ(listener.scores[0].step, 16);
}

// Without held-out images, the test split would select the best state.
TEST(Train, AnEmptyValidationShareIsRefused) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_evaluate_every(1);
  recipe.set_validation_share(0.01);
  EXPECT_EQ(ImageTask::Make(recipe, kTrainSquares, &kTestSquares).status(),
            absl::InvalidArgumentError("validation_share: 0.01 of 96 images holds out none; at least 0.010417"));
  recipe.set_validation_share(0.010417);
  EXPECT_TRUE(ImageTask::Make(recipe, kTrainSquares, &kTestSquares).ok());
}

TEST(Train, ARunStoppedInItsLastEvaluationIsUnfinished) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_evaluate_every(4);
  ScratchFolder folder;
  StopAfter stop(24);  // the last step
  const auto stopped = RunIn(folder, recipe, stop.options);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_FALSE(stopped->finished);
  const auto resumed = RunIn(folder, recipe, {.resume = true});
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(resumed->finished);
  EXPECT_TRUE(resumed->score.has_value());
}

TEST(Train, ABestScoreAtAnotherSizeDoesNotCount) {
  v1::Recipe recipe = SmallRecipe();
  recipe.set_validation_share(0.25);
  recipe.set_evaluate_every_steps(2);
  recipe.add_evaluation_sizes("16");
  recipe.set_epochs(8);
  ScratchFolder folder;
  StopAfter stop(30);  // the run has 32 steps; after step 30, most images are recognised
  ASSERT_TRUE(RunIn(folder, recipe, stop.options).ok());
  recipe.set_evaluation_sizes(0, "8x16");
  Listener listener;
  std::string said;
  TrainOptions options{.resume = true, .observers = {&listener}};
  options.say = [&](const std::string& text) { said += text + "\n"; };
  const auto result = RunIn(folder, recipe, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(said, HasSubstr("evaluation_sizes differ from those of the state"));
  ASSERT_FALSE(listener.scores.empty());
  EXPECT_TRUE(listener.scores[0].best) << "nothing was measured at this size before";
  EXPECT_GE(result->position.best_step, 30);
}

TEST(Train, AnInfiniteOrAbsurdLossIsAnError) {
  Score score{.measures = {{"top1", 0.5}, {"loss", 60}}, .split = "validation", .absurd_loss = 69};
  EXPECT_TRUE(CheckNotDiverged(score).ok()) << "learned badly";
  for (const double loss : {70.0, 1e22, std::nan(""), HUGE_VAL}) {
    score.measures[1].value = loss;
    EXPECT_EQ(CheckNotDiverged(score).code(), absl::StatusCode::kAborted) << loss;
  }
  EXPECT_THAT(std::string(CheckNotDiverged(score).message()), HasSubstr("the loss on the validation split is inf"));
  score.absurd_loss = std::numeric_limits<double>::infinity();
  score.measures = {{"bleu", std::nan("")}};
  EXPECT_EQ(CheckNotDiverged(score).code(), absl::StatusCode::kAborted);
}

TEST(Train, AnInfiniteTrainingLossNamesTheStepAndStoresTheBatch) {
  ScratchFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.clear_clip_norm();
  recipe.mutable_schedule()->set_warmup_steps(0);
  recipe.mutable_optimizer()->set_kind(v1::Optimizer::SGD);
  recipe.mutable_optimizer()->set_lr(99);
  recipe.mutable_optimizer()->set_weight_decay(1000);
  const auto result = RunIn(folder, recipe);
  ASSERT_EQ(result.status().code(), absl::StatusCode::kAborted) << result.status();
  std::filesystem::path batch;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("batch-of-step-")) batch = entry.path();
  }
  ASSERT_FALSE(batch.empty()) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("at step "));
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(batch.filename().string()));
  const auto content = ParseSafetensors(ReadFile(batch));
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(content->tensors.at("labels").elements(), 16);
  EXPECT_TRUE(content->tensors.contains("image.15"));
}

}  // namespace
}  // namespace vitrine
