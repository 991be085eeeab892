// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/encode/encode_png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/imaging/decode.h"
#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

TEST(EncodePng, DecodesToTheSamePixels) {
  for (const int channels : {1, 3}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 17}, {33, 1}, {28, 28}, {301, 199}}) {
      const Image image = Noise(width, height, channels);
      const auto png = EncodePng(image);
      ASSERT_TRUE(png.ok()) << png.status();
      const auto back = Decode(*png);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(back->width, width);
      EXPECT_EQ(back->height, height);
      EXPECT_EQ(back->channels, channels);
      EXPECT_TRUE(back->pixels == image.pixels) << width << "x" << height << "x" << channels;
    }
  }
}

TEST(EncodePng, RefusesImagesThatDoNotFitTheirBytes) {
  Image image = Noise(4, 4, 3);
  image.pixels.pop_back();
  EXPECT_EQ(EncodePng(image).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodePng({.width = 0, .height = 0, .channels = 3, .pixels = {}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodePng({.width = 2, .height = 1, .channels = 2, .pixels = {1, 2, 3, 4}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodePng({.width = -2, .height = -2, .channels = 1, .pixels = {1, 2, 3, 4}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The image has strong noise at the top, weak noise in the middle and no noise at the bottom, so that no part
// represents the whole image.
TEST(EstimatePngBytes, IsCloseToTheRealSize) {
  Image image = Noise(640, 1024, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const size_t row = i / (3 * 640);
    if (row > 700) image.pixels[i] = 90;
    if (row > 500 && row <= 700) image.pixels[i] = static_cast<uint8_t>(image.pixels[i] % 16 + row / 8);
  }
  const double exact = static_cast<double>(EncodePng(image)->size());
  EXPECT_NEAR(static_cast<double>(EstimatePngBytes(image).value()), exact, exact / 10);
  const Image small = Noise(100, 100, 1);
  EXPECT_EQ(EstimatePngBytes(small).value(), static_cast<int64_t>(EncodePng(small)->size()));
  image.pixels.pop_back();
  EXPECT_EQ(EstimatePngBytes(image).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
