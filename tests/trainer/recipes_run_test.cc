// SPDX-License-Identifier: Apache-2.0
// Trains every bundled recipe for a few steps, on generated data in place of the recipe's data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/trainer/coloured_squares.h"
#include "tests/trainer/untrained_version.h"
#include "trainer/lab/tasks/sequence_task.h"
#include "trainer/loop.h"
#include "trainer/optimise/schedule.h"
#include "trainer/recipe/recipe.h"
#include "trainer/sampler.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

// Noise with the classes, channels and size that a recipe expects.
class Noise final : public Dataset {
 public:
  Noise(const v1::ModelConfig& config, int64_t size) : size_(size), channels_(config.preprocessing().channels()) {
    for (int i = 0; i < config.classes(); ++i) labels_.push_back(absl::StrCat("class ", i));
  }
  int64_t size() const override { return size_; }
  int label(int64_t index) const override { return static_cast<int>(index * 7 % static_cast<int>(labels_.size())); }
  std::string name(int64_t index) const override { return absl::StrCat("noise ", index); }
  absl::StatusOr<Image> image(int64_t index) const override {
    Image noise{.width = 32, .height = 28, .channels = channels_, .pixels = {}};
    CounterRandom random(1, 0, index);
    noise.pixels.resize(size_t(noise.width) * noise.height * noise.channels);
    for (uint8_t& value : noise.pixels) value = static_cast<uint8_t>(random.Below(256));
    return noise;
  }
  absl::StatusOr<std::string> encoded(int64_t) const override { return absl::UnimplementedError("not sent"); }
  absl::StatusOr<std::string> stored(int64_t index) const override { return name(index); }

 private:
  const int64_t size_;
  const int channels_;
};

// Shortens the recipe: small batches and the smallest inputs of its model. Other fields are unchanged.
v1::Recipe Shortened(v1::Recipe recipe) {
  recipe.set_batch(2);
  recipe.set_accumulate(std::min(2, recipe.accumulate()));
  recipe.set_epochs(1);
  recipe.clear_evaluate_every();
  recipe.clear_validation_share();
  const bool is_fixed = !recipe.model().empty() && ConfigOf(recipe)->preprocessing().has_fixed();
  for (v1::TrainingSize& size : *recipe.mutable_sizes()) {
    if (size.height() < 200 || is_fixed) continue;
    size.set_height(size.height() / 2);
    size.set_width(size.width() / 2);
  }
  return recipe;
}

absl::Status RunImages(v1::Recipe recipe, const std::filesystem::path& folder) {
  // A recipe without a model uses the start version's model.
  const v1::ModelConfig config = *ConfigOf(recipe.model().empty() ? SmallRecipe() : recipe);
  const Noise data(config, 4);
  if (recipe.has_start()) {
    recipe.mutable_start()->set_version(PublishUntrained(folder / "models", config, data.labels()));
  }
  if (recipe.has_distillation()) {
    recipe.mutable_distillation()->set_teacher(PublishUntrained(folder / "models", config, data.labels()));
  }
  absl::StatusOr<std::unique_ptr<ImageTask>> task = ImageTask::Make(recipe, data, nullptr);
  if (!task.ok()) return task.status();
  const absl::StatusOr<TrainResult> result = Train(recipe, **task, {.work_dir = folder / "work", .threads = 2});
  if (!result.ok()) return result.status();
  EXPECT_TRUE(result->finished);
  EXPECT_TRUE(std::isfinite(result->position.loss_sum));
  return absl::OkStatus();
}

absl::Status RunSequences(v1::Recipe recipe, const std::filesystem::path& folder) {
  std::string data;
  switch (recipe.sequence().task_case()) {
    case v1::SequenceExperiment::kAnomaly:
      data = "generated:clusters";
      break;
    case v1::SequenceExperiment::kLanguage:
      if (recipe.sequence().language().text() == v1::LanguageExperiment::CHARACTERS) data = "generated:numbers";
      break;
    case v1::SequenceExperiment::kTranslation:
      data = "generated:numbers";
      break;
    default:
      break;
  }
  recipe.set_epochs(0.01);
  absl::StatusOr<std::unique_ptr<Task>> task = MakeSequenceTask(recipe, data);
  if (!task.ok()) return task.status();
  const int64_t steps = PlanSteps(recipe, (*task)->samples())->steps_per_epoch;
  recipe.set_epochs(3.0 / static_cast<double>(steps));
  const absl::StatusOr<TrainResult> result = Train(recipe, **task, {.work_dir = folder / "work", .threads = 2});
  if (!result.ok()) return result.status();
  EXPECT_EQ(result->position.step, 3);
  EXPECT_TRUE(std::isfinite(result->position.loss_sum));
  return absl::OkStatus();
}

class Recipes : public ::testing::TestWithParam<std::string> {};

TEST_P(Recipes, TrainAFewSteps) {
  ScratchFolder folder;
  const v1::Recipe recipe = Shortened(*FindRecipe(GetParam()));
  const absl::Status status =
      recipe.has_sequence() ? RunSequences(recipe, folder.path()) : RunImages(recipe, folder.path());
  EXPECT_TRUE(status.ok()) << status;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const BundledRecipe& bundled : BundledRecipes()) names.emplace_back(bundled.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Bundled, Recipes, ::testing::ValuesIn(Names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace vitrine
