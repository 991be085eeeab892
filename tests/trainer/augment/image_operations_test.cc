// SPDX-License-Identifier: Apache-2.0
// Compares image operations with results of timm and Pillow from tests/oracle/picture_operations.py.
#include "trainer/augment/image_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/common/imaging/images.h"
#include "trainer/augment/rand_augment.h"

namespace vitrine {
namespace {

struct Golden {
  std::string operation;
  double magnitude;
  bool negative;
  int channels, width, height;
  std::string pixels;  // hexadecimal
};

const Golden kGoldens[] = {
#include "tests/golden/image_operations.inc"
};

constexpr Colour kFill = {120, 110, 100};

Image Source(int channels, int width, int height) {
  Image image = NoiseImage(width, height, channels);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(30 + value * 3 / 4);
  return image;
}

const RandOperation* Find(std::string_view name) {
  for (const RandOperation& operation : RandOperations()) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

std::string Hexadecimal(const Image& image) {
  std::string text;
  for (const uint8_t value : image.pixels) {
    text += "0123456789abcdef"[value >> 4];
    text += "0123456789abcdef"[value & 15];
  }
  return text;
}

TEST(ImageOperations, EqualPillow) {
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(golden.operation + (golden.negative ? " -" : " +") + std::to_string(golden.magnitude) + ", " +
                 std::to_string(golden.channels) + " channels");
    const RandOperation* operation = Find(golden.operation);
    ASSERT_NE(operation, nullptr);
    const Image source = Source(golden.channels, golden.width, golden.height);
    const Image result = operation->apply(source, golden.magnitude, golden.negative, kFill);
    EXPECT_EQ(result.width, golden.width);
    EXPECT_EQ(result.height, golden.height);
    EXPECT_EQ(result.channels, golden.channels);
    EXPECT_EQ(Hexadecimal(result), golden.pixels);
  }
}

TEST(ImageOperations, EveryOperationHasGoldens) {
  for (const RandOperation& operation : RandOperations()) {
    const auto count = std::count_if(std::begin(kGoldens), std::end(kGoldens),
                                     [&](const Golden& golden) { return golden.operation == operation.name; });
    EXPECT_GE(count, 2) << operation.name;
  }
  EXPECT_EQ(RandOperations().size(), 15u);
}

TEST(ImageOperations, AcceptImagesWithoutContrastAndSinglePixels) {
  for (const Image& image : {PlainImage(5, 4, {77, 77, 77}), PlainImage(1, 1, {3}), PlainImage(300, 1, {250, 0, 9})}) {
    for (const RandOperation& operation : RandOperations()) {
      for (const double magnitude : {0.0, 9.0, 10.0}) {
        const Image result = operation.apply(image, magnitude, true, kFill);
        EXPECT_EQ(result.pixels.size(), image.pixels.size()) << operation.name;
      }
    }
    EXPECT_EQ(LargestDifference(AutoContrast(image), image), 0);
    EXPECT_EQ(LargestDifference(Equalize(image), image), 0);
  }
}

TEST(Warp, FillsPixelsFromBeyondTheImage) {
  const Image source = Source(3, 10, 6);
  const Image moved = Warp(source, {.c = 4}, kFill);  // content moves 4 pixels to the left
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 10; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int expected = x < 6 ? source.pixels[(y * 10 + x + 4) * 3 + c] : kFill[c];
        ASSERT_EQ(moved.pixels[(y * 10 + x) * 3 + c], expected) << x << " " << y;
      }
    }
  }
}

}  // namespace
}  // namespace vitrine
