// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/sheet.h"

#include <gtest/gtest.h>

#include "common/imaging/decode.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

absl::StatusOr<Image> Sheet(const v1::Recipe& recipe, const AugmentationSheetOptions& options) {
  const auto png = AugmentationSheet(ColouredSquares(12, 3), recipe, ConfigOf(recipe)->preprocessing(), options);
  if (!png.ok()) return png.status();
  return Decode(*png);
}

TEST(AugmentationSheet, HasRowsOfImagesAndColumnsOfDraws) {
  const v1::Recipe recipe = SmallRecipe();
  const auto small = Sheet(recipe, {.images = 3, .draws = 2}), wide = Sheet(recipe, {.images = 3, .draws = 4}),
             high = Sheet(recipe, {.images = 6, .draws = 2});
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->channels, 3);
  EXPECT_GT(wide->width, small->width + 200);
  EXPECT_EQ(wide->height, small->height);
  EXPECT_GT(high->height, small->height + 200);
  EXPECT_EQ(small->pixels, Sheet(recipe, {.images = 3, .draws = 2})->pixels);
}

TEST(AugmentationSheet, ShowsMixingIfTheRecipeEnablesIt) {
  v1::Recipe recipe = SmallRecipe();
  const auto plain = Sheet(recipe, {.images = 4, .draws = 4});
  recipe.mutable_mixing()->set_mixup_alpha(1);
  const auto mixed = Sheet(recipe, {.images = 4, .draws = 4});
  ASSERT_TRUE(plain.ok() && mixed.ok()) << mixed.status();
  EXPECT_NE(plain->pixels, mixed->pixels);
}

TEST(AugmentationSheet, HasNoMoreRowsThanImages) {
  const auto all = Sheet(SmallRecipe(), {.images = 100, .draws = 1});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_LT(all->height, 3000);
}

}  // namespace
}  // namespace vitrine
