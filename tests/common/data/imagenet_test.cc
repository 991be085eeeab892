// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/imagenet.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(ImageNet, ClassesAreKnownByTheirWordNetIds) {
  ASSERT_EQ(ImageNetNames().size(), 1000u);
  const auto name = [](const char* wnid) { return ImageNetNames()[static_cast<size_t>(*ImageNetClass(wnid))]; };
  EXPECT_EQ(name("n01440764"), "tench");
  EXPECT_EQ(name("n01443537"), "goldfish");
  EXPECT_EQ(name("n02123045"), "tabby");
  EXPECT_EQ(name("n02504458"), "African elephant");
  EXPECT_EQ(name("n03085013"), "computer keyboard");
  EXPECT_EQ(name("n07753592"), "banana");
  EXPECT_EQ(ImageNetClass("n15075141"), 999);
  for (const char* other : {"", "tench", "n00000001", "n01440764 ", "n99999999"}) {
    EXPECT_FALSE(ImageNetClass(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace vitrine
