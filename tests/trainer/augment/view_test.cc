// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/view.h"

#include <gtest/gtest.h>

#include "common/imaging/preprocess.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

v1::Preprocessing PreprocessingOf(const v1::Recipe& recipe) {
  return ConfigOf(recipe)->preprocessing();
}

TEST(DrawView, EqualsTheServedImageWithoutAugmentation) {
  const v1::Preprocessing preprocessing = PreprocessingOf(SmallRecipe());
  const Image image = *ColouredSquares(1, 3).image(0);
  CounterRandom random(1, 0, 0);
  const View view = DrawView({}, {16, 16}, {16, 16}, random);
  EXPECT_FALSE(view.mirrored);
  const auto geometry = PlanGeometry(preprocessing, {16, 16});
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(RenderView(image, view, preprocessing), Preprocess(image, preprocessing, *geometry));
}

TEST(DrawView, WindowHasTheAspectOfTheSize) {
  CounterRandom random(1, 0, 0);
  const View wide = DrawView({}, {16, 16}, {8, 16}, random);
  EXPECT_EQ(wide.width, 16);
  EXPECT_EQ(wide.height, 8);
  EXPECT_EQ(wide.top, 4) << "centred";
  EXPECT_EQ(wide.left, 0);
}

TEST(DrawView, UsesItsWholeRangeOfLimits) {
  const v1::Augmentation augmentation = SmallRecipe().augmentation();
  int mirrored = 0, outside = 0, smallest = 16, largest = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    CounterRandom random(1, 0, sample);
    const View view = DrawView(augmentation, {16, 16}, {16, 16}, random);
    ASSERT_GE(view.left, -2);
    ASSERT_GE(view.top, -2);
    ASSERT_LE(view.left + view.width, 18);
    ASSERT_LE(view.top + view.height, 18);
    // An area of 0.8 and an aspect ratio of 1.1 leave at least 16 * sqrt(0.8 / 1.1) pixels per side.
    ASSERT_GE(std::min(view.width, view.height), 13);
    mirrored += view.mirrored;
    outside += view.left < 0 || view.top < 0;
    smallest = std::min(smallest, view.width);
    largest = std::max(largest, view.left);
  }
  EXPECT_NEAR(mirrored, 1000, 100);
  EXPECT_GT(outside, 300);
  EXPECT_LE(smallest, 14);
  EXPECT_GE(largest, 2);
}

TEST(RenderView, MirrorsAndFillsWithTheMeanColour) {
  v1::Preprocessing preprocessing = PreprocessingOf(SmallRecipe());
  Image image{.width = 16, .height = 16, .channels = 3, .pixels = std::vector<uint8_t>(16 * 16 * 3, 255)};
  image.pixels[0] = image.pixels[1] = image.pixels[2] = 0;  // one black pixel at the top left
  View view{.left = -4, .top = 0, .width = 16, .height = 16, .mirrored = true, .size = {16, 16}};
  const std::vector<float> input = RenderView(image, view, preprocessing);
  ASSERT_EQ(input.size(), size_t{3 * 16 * 16});
  const float black = -preprocessing.mean(0) / preprocessing.std(0);
  EXPECT_NEAR(input[11], black, 1e-4) << "4 pixels of margin and the mirror bring column 0 to column 11";
  // The mean colour is rounded to 8 bits, so its error is up to half of 1/255.
  EXPECT_NEAR(input[15], 0, 0.5 / 255 / preprocessing.std(0) + 1e-5) << "beyond the image";
  EXPECT_GT(input[0], 1);
}

TEST(DrawSize, FollowsTheWeights) {
  const v1::Recipe recipe = SmallRecipe();
  int square = 0, wide = 0;
  for (int sample = 0; sample < 5000; ++sample) {
    CounterRandom random(3, 0, sample);
    const auto size = DrawSize(recipe, PreprocessingOf(recipe), {16, 16}, random);
    ASSERT_TRUE(size.ok());
    square += *size == Size{16, 16};
    wide += *size == Size{8, 16};
  }
  EXPECT_NEAR(square, 3000, 150);
  EXPECT_NEAR(wide, 1000, 120);
}

TEST(DrawSize, FollowsTheResolutionPolicyWithoutSizes) {
  v1::Recipe recipe = SmallRecipe();
  recipe.clear_sizes();
  CounterRandom random(3, 0, 0);
  const auto size = DrawSize(recipe, PreprocessingOf(recipe), {12, 20}, random);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(*size, (Size{12, 20}));
}

}  // namespace
}  // namespace vitrine
