// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/thumbnail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "common/imaging/decode.h"
#include "tests/common/drawing/pixels.h"

namespace vitrine {
namespace {

using ::testing::StartsWith;

std::string FileIn(const ImageCard::Tile& image) {
  std::string bytes;
  absl::Base64Unescape(image.uri.substr(image.uri.find(',') + 1), &bytes);
  return bytes;
}

TEST(Thumbnail, KeepsEveryPixelOfATinyImage) {
  const auto thumbnail = Thumbnail(Noise(32, 20, 3), 176, "a");
  ASSERT_TRUE(thumbnail.ok()) << thumbnail.status();
  EXPECT_TRUE(thumbnail->pixels);
  EXPECT_EQ(thumbnail->caption, "a");
  EXPECT_THAT(thumbnail->uri, StartsWith("data:image/png;base64,"));
  EXPECT_EQ(Decode(FileIn(*thumbnail))->pixels, Noise(32, 20, 3).pixels);
}

TEST(Thumbnail, ScalesLargerImagesToTheRequestedSide) {
  for (const int channels : {1, 3}) {
    const auto thumbnail = Thumbnail(Noise(400, 300, channels), 176, "");
    ASSERT_TRUE(thumbnail.ok()) << thumbnail.status();
    EXPECT_FALSE(thumbnail->pixels);
    EXPECT_THAT(thumbnail->uri, StartsWith("data:image/jpeg;base64,"));
    const auto image = Decode(FileIn(*thumbnail));
    EXPECT_EQ(image->width, 176);
    EXPECT_EQ(image->height, 132);
    EXPECT_EQ(image->channels, channels);
  }
  const auto line = Thumbnail(Noise(1000, 1, 3), 100, "");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(Decode(FileIn(*line))->height, 1);
}

TEST(Thumbnail, NeverExceedsItsMaximumSize) {
  for (const int side : {95, 96, 97, 512}) {
    const auto thumbnail = Thumbnail(Noise(side, side, 3), 512, "");
    ASSERT_TRUE(thumbnail.ok()) << thumbnail.status();
    EXPECT_LE(FileIn(*thumbnail).size(), kMostThumbnailBytes) << side;
  }
  EXPECT_EQ(Thumbnail({}, 176, "").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
