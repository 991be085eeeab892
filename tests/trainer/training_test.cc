#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/trainer/coloured_squares.h"
#include "trainer/evaluate.h"
#include "trainer/loop.h"
#include "trainer/recipe.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

const ColouredSquares kTrain(96, 1);
const ColouredSquares kTest(48, 2);

absl::StatusOr<TrainResult> RunIn(const WorkFolder& folder, const v1::Recipe& recipe, TrainOptions options = {}) {
  std::ostringstream lines;
  Progress progress(lines, /*is_terminal=*/false);
  options.work_dir = folder.path();
  if (options.threads == 1) options.threads = 2;
  return Train(recipe, kTrain, &kTest, options, progress);
}

void ExpectSameWeights(const Model& a, const Model& b) {
  const std::vector<NamedTensor> x = a.Parameters(), y = b.Parameters();
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(at::equal(x[i].tensor, y[i].tensor)) << x[i].name;
}

// Stops after `step` steps.
struct StopAfter {
  explicit StopAfter(int64_t step) {
    options.stop = &stop;
    options.after_step = [this, step](const RunPosition& position) { stop = position.step == step; };
  }
  std::atomic<bool> stop = false;
  TrainOptions options;
};

TEST(Train, LearnsColours) {
  WorkFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(10);
  const auto result = RunIn(folder, recipe);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->finished);
  EXPECT_EQ(result->position.images, 960);
  EXPECT_DOUBLE_EQ(result->epochs, 10);
  for (const Size size : {Size{16, 16}, Size{8, 16}, Size{16, 8}}) {
    const auto accuracy = Evaluate(*result->model, kTest, size);
    ASSERT_TRUE(accuracy.ok());
    EXPECT_GE(accuracy->top1(), 0.9) << ToString(size);
  }
}

TEST(Train, TwiceFromOneSeedGivesTheSameBits) {
  WorkFolder first, second, third;
  const auto a = RunIn(first, SmallRecipe()), b = RunIn(second, SmallRecipe());
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  ExpectSameWeights(*a->model, *b->model);
  v1::Recipe other = SmallRecipe();
  other.set_seed(8);
  const auto c = RunIn(third, other);
  ASSERT_TRUE(c.ok());
  EXPECT_FALSE(at::equal(a->model->Parameters()[0].tensor, c->model->Parameters()[0].tensor));
}

TEST(Train, InterruptedAndResumedEqualsUninterrupted) {
  WorkFolder whole, parts;
  const auto uninterrupted = RunIn(whole, SmallRecipe());
  ASSERT_TRUE(uninterrupted.ok()) << uninterrupted.status();
  for (const int64_t stop_after : {4, 12, 13}) {  // within an epoch, at the end of one, and right after
    StopAfter stop(stop_after);
    stop.options.resume = true;
    const auto part = RunIn(parts, SmallRecipe(), stop.options);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_FALSE(part->finished);
    EXPECT_EQ(part->position.step, stop_after);
  }
  const auto resumed = RunIn(parts, SmallRecipe(), {.resume = true});
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(resumed->finished);
  EXPECT_EQ(resumed->position.images, uninterrupted->position.images);
  EXPECT_EQ(resumed->position.loss_sum, uninterrupted->position.loss_sum);
  ExpectSameWeights(*resumed->model, *uninterrupted->model);
}

TEST(Train, SgdResumesToTheSameBitsToo) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_optimizer()->set_kind(v1::Optimizer::SGD);
  recipe.mutable_optimizer()->set_momentum(0.9);
  recipe.set_epochs(1);
  WorkFolder whole, parts;
  const auto uninterrupted = RunIn(whole, recipe);
  StopAfter stop(3);
  ASSERT_TRUE(RunIn(parts, recipe, stop.options).ok());
  const auto resumed = RunIn(parts, recipe, {.resume = true});
  ASSERT_TRUE(uninterrupted.ok() && resumed.ok()) << resumed.status();
  ExpectSameWeights(*resumed->model, *uninterrupted->model);
}

TEST(Train, AStateIsNeitherOverwrittenNorMixedUp) {
  WorkFolder folder;
  StopAfter stop(2);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  const auto anew = RunIn(folder, SmallRecipe());
  EXPECT_EQ(anew.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(anew.status().message()), HasSubstr("--resume"));

  v1::Recipe other = SmallRecipe();
  other.mutable_optimizer()->set_lr(1e-4);
  const auto mixed = RunIn(folder, other, {.resume = true});
  EXPECT_EQ(mixed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(mixed.status().message()), HasSubstr("optimizer.lr"));

  v1::Recipe longer = SmallRecipe();
  longer.set_epochs(5);
  EXPECT_TRUE(RunIn(folder, longer, {.resume = true}).ok()) << "the epochs of a run may change";
}

TEST(Train, DamagedStateIsRefused) {
  WorkFolder folder;
  StopAfter stop(2);
  ASSERT_TRUE(RunIn(folder, SmallRecipe(), stop.options).ok());
  std::filesystem::resize_file(StateFile(folder.path()), 1000);
  const auto resumed = RunIn(folder, SmallRecipe(), {.resume = true});
  EXPECT_EQ(resumed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(resumed.status().message()), HasSubstr("state.safetensors"));
}

TEST(Train, InfiniteLossNamesTheStep) {
  WorkFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.clear_clip_norm();
  recipe.mutable_schedule()->set_warmup_steps(0);
  recipe.mutable_optimizer()->set_kind(v1::Optimizer::SGD);
  recipe.mutable_optimizer()->set_lr(99);
  recipe.mutable_optimizer()->set_weight_decay(1000);
  const auto result = RunIn(folder, recipe);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("at step "));
}

TEST(Train, RefusesWhatDoesNotFit) {
  WorkFolder folder;
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

TEST(Train, WritesItsHistory) {
  WorkFolder folder;
  v1::Recipe recipe = SmallRecipe();
  recipe.set_epochs(2);
  recipe.set_evaluate_every(2);
  ASSERT_TRUE(RunIn(folder, recipe).ok());
  std::ifstream in(folder.path() / "history.csv");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("test_accuracy"));
  EXPECT_THAT(lines[1], HasSubstr(",,")) << "the test split is measured every second epoch";
  EXPECT_THAT(lines[2], ::testing::Not(HasSubstr(",,")));
}

}  // namespace
}  // namespace vitrine
