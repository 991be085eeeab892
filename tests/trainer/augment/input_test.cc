// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/trainer/coloured_squares.h"
#include "trainer/augment/view.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

class DrawInputTest : public ::testing::Test {
 protected:
  absl::StatusOr<TrainingInput> Draw(const v1::Recipe& recipe, int sample) const {
    CounterRandom random(recipe.seed(), 3, sample);
    return DrawInput(image_, recipe, preprocessing_, random);
  }

  const v1::Preprocessing preprocessing_ = ConfigOf(SmallRecipe())->preprocessing();
  const Image image_ = *ColouredSquares(4, 3).image(1);
};

// A recipe without recolouring draws the same random numbers as it drew in releases that had no recolouring, so that
// old runs can be repeated.
TEST_F(DrawInputTest, EqualsTheViewWithoutRecolouring) {
  const v1::Recipe recipe = SmallRecipe();
  for (int sample = 0; sample < 100; ++sample) {
    CounterRandom random(recipe.seed(), 3, sample);
    const Size size = *DrawSize(recipe, preprocessing_, {16, 16}, random);
    const View view = DrawView(recipe.augmentation(), {16, 16}, size, random);
    const auto input = Draw(recipe, sample);
    ASSERT_TRUE(input.ok());
    EXPECT_EQ(input->size, size);
    EXPECT_EQ(input->values, RenderView(image_, view, preprocessing_));
  }
}

// The expected numbers were computed from the definitions of CounterRandom and View in another language.
TEST_F(DrawInputTest, DrawsTheRecordedRandomNumbers) {
  const auto draw = [](int sample) {
    CounterRandom random(1, 0, sample);
    const View view = DrawView(SmallRecipe().augmentation(), {160, 160}, {16, 16}, random);
    return std::vector<int>{view.left, view.top, view.width, view.height, view.mirrored};
  };
  EXPECT_EQ(draw(0), (std::vector<int>{6, 2, 155, 158, 0}));
  EXPECT_EQ(draw(5), (std::vector<int>{6, 3, 154, 157, 1}));
}

// Every setting changes images, but not the random numbers that are drawn before the random numbers of this setting.
TEST_F(DrawInputTest, EverySettingKeepsEarlierRandomNumbers) {
  v1::Recipe plain = SmallRecipe();
  const auto changed = [&](const v1::Recipe& recipe) {
    int count = 0;
    for (int sample = 0; sample < 40; ++sample) {
      const auto before = Draw(plain, sample), after = Draw(recipe, sample);
      EXPECT_EQ(after->size, before->size);
      EXPECT_EQ(after->values.size(), before->values.size());
      EXPECT_EQ(after->values, Draw(recipe, sample)->values);
      count += after->values != before->values;
    }
    return count;
  };
  EXPECT_EQ(changed(plain), 0);
  v1::Recipe recipe = plain;
  recipe.mutable_augmentation()->mutable_rand_augment()->set_operations(2);
  recipe.mutable_augmentation()->mutable_rand_augment()->set_magnitude(9);
  EXPECT_GT(changed(recipe), 20);
  recipe = plain;
  recipe.mutable_augmentation()->set_colour_jitter(0.4F);
  EXPECT_GT(changed(recipe), 35);
  recipe = plain;
  recipe.mutable_augmentation()->mutable_random_erasing()->set_probability(0.5F);
  const int erased = changed(recipe);
  EXPECT_GT(erased, 8);
  EXPECT_LT(erased, 32);
}

// An operation without effect still uses the 8-bit path, so the result may differ by half of 1/255.
TEST_F(DrawInputTest, EightBitPixelsDifferOnlyByRounding) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_augmentation()->mutable_rand_augment()->set_operations(1);
  recipe.mutable_augmentation()->mutable_rand_augment()->set_probability(0);
  const float least_deviation = *std::min_element(preprocessing_.std().begin(), preprocessing_.std().end());
  for (int sample = 0; sample < 40; ++sample) {
    const auto rounded = Draw(recipe, sample), exact = Draw(SmallRecipe(), sample);
    for (size_t i = 0; i < exact->values.size(); ++i) {
      ASSERT_NEAR(rounded->values[i], exact->values[i], 0.501 / 255 / least_deviation);
    }
  }
}

TEST_F(DrawInputTest, AcceptsGreyImages) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_augmentation()->mutable_rand_augment()->set_operations(2);
  recipe.mutable_augmentation()->mutable_rand_augment()->set_magnitude(9);
  recipe.mutable_augmentation()->set_colour_jitter(0.4F);
  Image grey{.width = 16, .height = 16, .channels = 1, .pixels = {}};
  for (int i = 0; i < 256; ++i) grey.pixels.push_back(static_cast<uint8_t>(i));
  for (int sample = 0; sample < 40; ++sample) {
    CounterRandom random(1, 3, sample);
    const auto input = DrawInput(grey, recipe, preprocessing_, random);
    ASSERT_TRUE(input.ok());
    EXPECT_EQ(input->values.size(), static_cast<size_t>(3 * input->size.height * input->size.width));
  }
}

}  // namespace
}  // namespace vitrine
