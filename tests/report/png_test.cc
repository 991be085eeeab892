// SPDX-License-Identifier: Apache-2.0
#include "report/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "imaging/decode.h"

namespace vitrine {
namespace {

Image Noise(int width, int height, int channels) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  std::mt19937 random(static_cast<unsigned>(width * 31 + height * 7 + channels));
  for (int i = 0; i < width * height * channels; ++i) image.pixels.push_back(static_cast<uint8_t>(random()));
  return image;
}

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

TEST(EncodePng, RefusesPicturesThatDoNotFitTheirBytes) {
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

}  // namespace
}  // namespace vitrine
