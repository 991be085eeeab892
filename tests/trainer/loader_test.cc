// SPDX-License-Identifier: Apache-2.0
#include "trainer/loader.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

struct Fixture {
  ColouredSquares data{50, 1};
  v1::Recipe recipe = SmallRecipe();
  v1::Preprocessing preprocessing = ConfigOf(recipe)->preprocessing();
  std::unique_ptr<ImageTask> task = *ImageTask::Make(recipe, data, nullptr);
  StepPlan plan = *PlanSteps(recipe, data.size());  // 3 steps per epoch, 12 in all
};

void ExpectEqual(const TrainingBatch& a, const TrainingBatch& b) {
  ASSERT_EQ(a.images.size(), b.images.size());
  EXPECT_TRUE(at::equal(a.labels, b.labels));
  for (size_t i = 0; i < a.images.size(); ++i) EXPECT_TRUE(at::equal(a.images[i], b.images[i])) << "image " << i;
}

TEST(BatchLoader, BatchesDoNotDependOnThreadsOrTheFirstStep) {
  Fixture f;
  BatchLoader one(*f.task, f.plan, 0, {.threads = 1, .ahead = 1});
  BatchLoader many(*f.task, f.plan, 0, {.threads = 4, .ahead = 6});
  BatchLoader late(*f.task, f.plan, 5, {.threads = 2});
  for (int64_t step = 0; step < f.plan.total_steps; ++step) {
    const auto a = one.Next(), b = many.Next();
    ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
    ExpectEqual(*a, *b);
    if (step < 5) continue;
    const auto c = late.Next();
    ASSERT_TRUE(c.ok());
    ExpectEqual(*a, *c);
  }
  EXPECT_EQ(one.Next().status().code(), absl::StatusCode::kOutOfRange);
}

TEST(BatchLoader, ALoaderCanBeDestroyedEarly) {
  Fixture f;
  f.recipe.set_epochs(1000);
  BatchLoader loader(*f.task, *PlanSteps(f.recipe, 50), 0, {.threads = 3, .ahead = 2});
  ASSERT_TRUE(loader.Next().ok());
}

TEST(BatchLoader, ProcessesAndAccumulationDivideTheSameStep) {
  Fixture f;
  f.recipe.clear_augmentation();
  const auto task = *ImageTask::Make(f.recipe, f.data, nullptr);
  const auto labels_of = [&](BatchLoader& loader, int batches) {
    std::multiset<int64_t> labels;
    for (int i = 0; i < batches; ++i) {
      const TrainingBatch batch = *loader.Next();
      for (int64_t j = 0; j < batch.samples; ++j) labels.insert(batch.labels[j].item<int64_t>());
    }
    return labels;
  };
  BatchLoader whole(*task, *PlanSteps(f.recipe, 50), 0, {});
  f.recipe.set_batch(4);
  f.recipe.set_accumulate(2);
  const StepPlan plan = *PlanSteps(f.recipe, 50, /*processes=*/2);
  EXPECT_EQ(plan.samples_per_step(), 16);
  BatchLoader first(*task, plan, 0, {.rank = 0}), second(*task, plan, 0, {.rank = 1});
  for (int64_t step = 0; step < plan.total_steps; ++step) {
    std::multiset<int64_t> parts = labels_of(first, 2);
    parts.merge(labels_of(second, 2));
    EXPECT_EQ(parts, labels_of(whole, 1)) << step;
  }
}

TEST(MakeBatch, SortsBySizeAndKeepsLabelsWithTheirImages) {
  Fixture f;
  f.recipe.clear_augmentation();
  const auto task = *ImageTask::Make(f.recipe, f.data, nullptr);
  const std::vector<Member> members = task->EpochMembers(0);
  const auto batch = task->MakeBatch(0, 1, std::span(members).subspan(16, 16));
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->images.size(), 16u);
  std::set<int64_t> sizes;
  for (size_t i = 0; i < batch->images.size(); ++i) {
    const at::Tensor& image = batch->images[i];
    if (i > 0) {
      const at::Tensor& before = batch->images[i - 1];
      EXPECT_LE(std::pair(before.size(1), before.size(2)), std::pair(image.size(1), image.size(2)));
    }
    sizes.insert(image.size(1) * 100 + image.size(2));
    // The class is the channel that is brightest after undoing the normalisation.
    float means[3];
    for (int c = 0; c < 3; ++c) {
      means[c] = image[c].mean().item<float>() * f.preprocessing.std(c) + f.preprocessing.mean(c);
    }
    EXPECT_EQ(std::max_element(means, means + 3) - means, batch->labels[i].item<int64_t>());
  }
  EXPECT_GE(sizes.size(), 2u) << "a batch packs several sizes";
}

}  // namespace
}  // namespace vitrine
