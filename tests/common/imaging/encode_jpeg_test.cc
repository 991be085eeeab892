// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/encode/encode_jpeg.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/imaging/decode.h"

namespace vitrine {
namespace {

Image Gradient(int width, int height, int channels) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  for (int i = 0; i < width * height; ++i) {
    for (int c = 0; c < channels; ++c) image.pixels.push_back(static_cast<uint8_t>(40 + 120 * i / (width * height)));
  }
  return image;
}

TEST(EncodeJpeg, DecodesToASimilarImage) {
  for (const int channels : {1, 3}) {
    const Image image = Gradient(33, 17, channels);
    const auto file = EncodeJpeg(image, 90);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto decoded = Decode(*file);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_EQ(decoded->pixels.size(), image.pixels.size());
    for (size_t i = 0; i < image.pixels.size(); ++i) ASSERT_NEAR(decoded->pixels[i], image.pixels[i], 6) << i;
  }
}

TEST(EncodeJpeg, RefusesInvalidImages) {
  Image image = Gradient(4, 4, 3);
  image.pixels.pop_back();
  EXPECT_EQ(EncodeJpeg(image, 90).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(EncodeJpeg({}, 90).ok());
  const Image wide = Gradient(70000, 1, 1);  // exceeds the maximum width of a JPEG
  EXPECT_EQ(EncodeJpeg(wide, 90).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
