// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/imaging/decode.h"
#include "common/imaging/resize.h"
#include "tests/common/imaging/images.h"
#include "tests/common/imaging/webp_files.h"

namespace vitrine {
namespace {

// Returns the largest difference between a pixel of the small image and the mean of its block in the whole image.
// Ignores the edges.
double DifferenceToBlocks(const Image& small, const Image& whole, int divisor) {
  double largest = 0;
  for (int y = 0; y < whole.height / divisor; ++y) {
    for (int x = 0; x < whole.width / divisor; ++x) {
      for (int c = 0; c < whole.channels; ++c) {
        double sum = 0;
        for (int i = 0; i < divisor * divisor; ++i) {
          const int row = y * divisor + i / divisor, column = x * divisor + i % divisor;
          sum += whole.pixels[(static_cast<size_t>(row) * whole.width + column) * whole.channels + c];
        }
        const int got = small.pixels[(static_cast<size_t>(y) * small.width + x) * small.channels + c];
        largest = std::max(largest, std::abs(got - sum / (divisor * divisor)));
      }
    }
  }
  return largest;
}

TEST(DecodeReduced, ShowsTheWholeImage) {
  for (const int channels : {1, 3}) {
    const Image whole = SmoothImage(333, 222, channels);
    for (const std::string& encoded :
         {JpegFile(whole), JpegFile(whole, {.progressive = true, .subsample = channels == 3}), PngFile(whole)}) {
      for (const int divisor : {1, 2, 4, 8}) {
        const auto small = DecodeReduced(encoded, divisor);
        ASSERT_TRUE(small.ok()) << small.status();
        EXPECT_EQ(small->width, (333 + divisor - 1) / divisor);
        EXPECT_EQ(small->height, (222 + divisor - 1) / divisor);
        EXPECT_EQ(small->channels, channels);
        EXPECT_LT(DifferenceToBlocks(*small, *Decode(encoded), divisor), 8) << "1/" << divisor;
      }
    }
  }
}

TEST(DecodeReduced, BlocksOfAWebpAreMeans) {
  const Image noise = NoiseImage(17, 9, 3);
  EXPECT_LE(DifferenceToBlocks(*DecodeReduced(WebpFile(noise, {.lossless = true}), 4), noise, 4), 0.5);
}

TEST(DecodeReduced, BlocksOfAPngAreMeansToTheLastPixel) {
  const Image noise = NoiseImage(17, 9, 3);
  const Image small = *DecodeReduced(PngFile(noise), 8);
  EXPECT_EQ(small.width, 3);
  EXPECT_EQ(small.height, 2);
  EXPECT_LE(DifferenceToBlocks(small, noise, 8), 0.5);
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(small.pixels[static_cast<size_t>((1 * 3 + 2) * 3 + c)],
              noise.pixels[static_cast<size_t>((8 * 17 + 16) * 3 + c)])
        << "a block of one pixel must equal this pixel";
  }
}

TEST(DecodeReduced, RotatesAndConvertsLikeDecode) {
  const Image image = SmoothImage(64, 32, 3);
  const Image turned = *DecodeReduced(JpegFile(image, {.exif = ExifBlock(6)}), 2);
  EXPECT_EQ(turned.width, 16);
  EXPECT_EQ(turned.height, 32);
  const std::string cmyk = JpegFile(image, {.cmyk = true});
  EXPECT_LT(DifferenceToBlocks(*DecodeReduced(cmyk, 4), *Decode(cmyk), 4), 8);
}

TEST(DecodeReduced, RefusesDamageAndOtherSizes) {
  const std::string jpeg = JpegFile(SmoothImage(64, 32, 3));
  for (const int divisor : {0, -1, 3, 16}) {
    EXPECT_EQ(DecodeReduced(jpeg, divisor).status().code(), absl::StatusCode::kInvalidArgument) << divisor;
  }
  EXPECT_FALSE(DecodeReduced(jpeg.substr(0, jpeg.size() - 40), 8).ok());
  EXPECT_FALSE(DecodeReduced(jpeg, 8, {.max_pixels = 2047}).ok()) << "the limits must apply to the whole image";
}

}  // namespace
}  // namespace vitrine
