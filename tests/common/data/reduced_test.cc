// SPDX-License-Identifier: Apache-2.0
#include "common/data/reduced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "common/data/formats/image_folder.h"
#include "tests/common/data/grey_images.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

v1::Preprocessing FourPixels(v1::Preprocessing::Decode decode) {
  v1::Preprocessing preprocessing;
  preprocessing.mutable_fixed()->set_height(4);
  preprocessing.mutable_fixed()->set_width(4);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  preprocessing.set_decode(decode);
  return preprocessing;
}

TEST(Reduced, ImagesAreReducedLikeForServing) {
  ScratchFolder folder;
  folder.Write("a/1.png", GreyPng(9, 33));
  folder.Write("b/1.png", GreyPng(5, 8));
  folder.Write("b/2.png", "no image");
  const auto set = MakeReduced(*OpenImageFolder(folder.path(), Split::kTrain), FourPixels(v1::Preprocessing::REDUCED));
  ASSERT_EQ(set->size(), 3);
  EXPECT_EQ(set->labels().size(), 2U);
  EXPECT_EQ(set->label(1), 1);
  EXPECT_EQ(set->name(1), "b/1.png");
  const auto reduced = set->image(0);
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->width, 9) << "the width must be a quarter of 33, rounded up";
  EXPECT_EQ(reduced->pixels[0], 9);
  EXPECT_EQ(set->image(1)->width, 8) << "half of the size would be less than twice the needed size";
  EXPECT_EQ(*set->encoded(0), GreyPng(9, 33)) << "the file must not change";
  EXPECT_EQ(*set->stored(0), GreyPng(9, 33));
  EXPECT_THAT(set->image(2).status().ToString(), HasSubstr("b/2.png: "));
}

TEST(Reduced, ReturnsTheOriginalSetIfTheModelDecodesFullImages) {
  ScratchFolder folder;
  folder.Write("a/1.png", GreyPng(9));
  folder.Write("b/1.png", GreyPng(9));
  auto set = *OpenImageFolder(folder.path(), Split::kTrain);
  const Dataset* const itself = set.get();
  EXPECT_EQ(MakeReduced(std::move(set), FourPixels(v1::Preprocessing::FULL)).get(), itself);
}

}  // namespace
}  // namespace vitrine
