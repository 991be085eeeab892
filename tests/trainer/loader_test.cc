#include "trainer/loader.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe.h"
#include "trainer/sampler.h"

namespace vitrine {
namespace {

struct Fixture {
  ColouredSquares data{50, 1};
  v1::Recipe recipe = SmallRecipe();
  v1::Preprocessing preprocessing = ConfigOf(recipe)->preprocessing();
  StepPlan plan = PlanSteps(recipe, data.size());  // 3 steps an epoch, 12 in all
};

void ExpectEqual(const TrainingBatch& a, const TrainingBatch& b) {
  ASSERT_EQ(a.images.size(), b.images.size());
  EXPECT_TRUE(at::equal(a.labels, b.labels));
  for (size_t i = 0; i < a.images.size(); ++i) EXPECT_TRUE(at::equal(a.images[i], b.images[i])) << "image " << i;
}

TEST(BatchLoader, BatchesDependNeitherOnThreadsNorOnWhereTheyStart) {
  Fixture f;
  BatchLoader one(f.data, f.recipe, f.preprocessing, f.plan, 0, {.threads = 1, .ahead = 1});
  BatchLoader many(f.data, f.recipe, f.preprocessing, f.plan, 0, {.threads = 4, .ahead = 6});
  BatchLoader late(f.data, f.recipe, f.preprocessing, f.plan, 5, {.threads = 2});
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

TEST(BatchLoader, AnAbandonedLoaderEnds) {
  Fixture f;
  f.recipe.set_epochs(1000);
  BatchLoader loader(f.data, f.recipe, f.preprocessing, PlanSteps(f.recipe, 50), 0, {.threads = 3, .ahead = 2});
  ASSERT_TRUE(loader.Next().ok());
}

TEST(MakeBatch, SortsBySizeAndKeepsLabelsWithTheirImages) {
  Fixture f;
  f.recipe.clear_augmentation();
  const std::vector<int64_t> order = EpochOrder(f.recipe.seed(), 0, f.data.size());
  const auto batch = MakeBatch(f.data, f.recipe, f.preprocessing, f.plan, 1, order);
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
    // The class is the brightest channel, after undoing the normalisation.
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
