// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/fit_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/imaging/decode.h"
#include "common/imaging/header.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

// Returns limits of 20,000 pixels and 10 KB, so that the images of the tests can be small.
FitLimits Small() {
  FitLimits limits;
  limits.accepted = {.max_pixels = 20000, .max_side = 400};
  limits.max_bytes = 10000;
  return limits;
}

FittedImage Fitted(const std::string& encoded, const FitLimits& limits = Small()) {
  const auto fitted = FitImage(encoded, limits);
  EXPECT_TRUE(fitted.ok()) << fitted.status();
  return fitted.ok() && fitted->has_value() ? **fitted : FittedImage();
}

TEST(FitImage, KeepsFittingAndUnknownFiles) {
  EXPECT_EQ(*FitImage(JpegFile(SmoothImage(200, 100, 3)), Small()), std::nullopt);
  EXPECT_EQ(*FitImage("not an image", Small()), std::nullopt)
      << "other files must be sent, so that the server reports the fault";
  EXPECT_EQ(*FitImage("GIF89a", Small()), std::nullopt);
}

TEST(FitImage, KeepsAnImageOfTheMaximumSize) {
  const std::string wide = JpegFile(SmoothImage(400, 50, 3));  // exactly the maximum side and number of pixels
  FitLimits limits = Small();
  limits.max_bytes = static_cast<int64_t>(wide.size());
  limits.most_pixels_here = 20000;
  EXPECT_EQ(*FitImage(wide, limits), std::nullopt);
  FitLimits smaller = limits;
  --smaller.max_bytes;
  EXPECT_NE(*FitImage(wide, smaller), std::nullopt) << "the file has one byte too many";
  smaller = limits;
  --smaller.accepted.max_side;
  EXPECT_NE(*FitImage(wide, smaller), std::nullopt) << "the image is one pixel too long";
  --smaller.most_pixels_here;
  EXPECT_FALSE(FitImage(wide, smaller).ok()) << "the image has one pixel too many to be scaled by the client";
}

TEST(FitImage, ScalesByAHalfAQuarterOrAnEighth) {
  const auto size_of = [](int width, int height) {
    const FittedImage fitted = Fitted(JpegFile(SmoothImage(width, height, 3), {.quality = 60}));
    EXPECT_EQ(fitted.before, (Size{height, width}));
    const auto image = Decode(fitted.encoded);
    EXPECT_TRUE(image.ok()) << image.status();
    EXPECT_EQ((Size{image->height, image->width}), fitted.after);
    return std::pair(fitted.after.width, fitted.after.height);
  };
  EXPECT_EQ(size_of(201, 100), std::pair(101, 50));
  EXPECT_EQ(size_of(401, 10), std::pair(201, 5)) << "an image with few pixels but a too long side must be scaled";
  EXPECT_EQ(size_of(600, 300), std::pair(150, 75));
  EXPECT_EQ(size_of(1000, 1000), std::pair(125, 125));
}

TEST(FitImage, AppliesTheOrientation) {
  const Image image = SmoothImage(300, 160, 3);
  for (const int orientation : {1, 3, 6, 8}) {
    const std::string jpeg = JpegFile(image, {.exif = ExifBlock(orientation)});
    const FittedImage fitted = Fitted(jpeg);
    EXPECT_EQ(ReadHeader(fitted.encoded)->orientation, 1);
    EXPECT_EQ(fitted.before, (orientation >= 5 ? Size{300, 160} : Size{160, 300}));
    EXPECT_EQ(fitted.after, (orientation >= 5 ? Size{150, 80} : Size{80, 150}));
    const Image small = *Decode(fitted.encoded), large = *Decode(jpeg);
    for (const auto& [x, y] : {std::pair(5, 5), std::pair(small.width - 5, 5), std::pair(5, small.height - 5)}) {
      for (int c = 0; c < 3; ++c) {
        const int got = small.pixels[(y * small.width + x) * 3 + c];
        const int want = large.pixels[(2 * y * large.width + 2 * x) * 3 + c];
        EXPECT_NEAR(got, want, 12) << "orientation " << orientation << " at " << x << ", " << y;
      }
    }
  }
}

TEST(FitImage, APngBecomesAJpeg) {
  const FittedImage fitted = Fitted(PngFile(SmoothImage(300, 160, 1)));
  EXPECT_EQ(fitted.after, (Size{80, 150}));
  EXPECT_EQ(ReadHeader(fitted.encoded)->format, ImageFormat::kJpeg);
  EXPECT_EQ(Decode(fitted.encoded)->channels, 1);
}

TEST(FitImage, ALargeFileOfASmallImageIsReencoded) {
  const FittedImage fitted = Fitted(PngFile(NoiseImage(100, 60, 3)));
  EXPECT_EQ(fitted.after, (Size{60, 100}));
  EXPECT_LE(fitted.encoded.size(), 10000u);
  EXPECT_EQ(fitted.Note(), "its file is larger than the server accepts; sent as a JPEG of the same size");
  FitLimits tiny = Small();
  tiny.max_bytes = 2500;
  EXPECT_EQ(Fitted(PngFile(NoiseImage(100, 60, 3)), tiny).after, (Size{30, 50}))
      << "the image must be scaled if encoding alone does not help";
}

TEST(FitImage, ErrorsGiveTheReason) {
  FitLimits limits = Small();
  limits.most_pixels_here = 90000;
  EXPECT_THAT(FitImage(JpegFile(SmoothImage(400, 300, 3)), limits).status().ToString(),
              HasSubstr("the image has 400 x 300 = 120000 pixels; at most 90000"));
  const std::string jpeg = JpegFile(SmoothImage(600, 300, 3));
  const absl::Status damaged = FitImage(jpeg.substr(0, jpeg.size() / 2), Small()).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(damaged.message(), HasSubstr("damaged or cut short"));
  EXPECT_THAT(FitImage(JpegFile(SmoothImage(4000, 4, 1)), Small()).status().ToString(),
              HasSubstr("even an eighth of it"));
  EXPECT_THAT(FitImage(std::string(20000, 'x'), Small()).status().ToString(), HasSubstr("neither a JPEG nor a PNG"));
}

TEST(FitImage, ScalesAPhotographOf24Megapixels) {
  const std::string jpeg = JpegFile(SmoothImage(6000, 4000, 3), {.quality = 80, .exif = ExifBlock(6)});
  EXPECT_FALSE(Decode(jpeg).ok()) << "the image must be above the server's limit";
  const FittedImage fitted = Fitted(jpeg, {});
  EXPECT_EQ(fitted.Note(), "4000 x 6000 pixels are more than the server accepts; sent as 2000 x 3000");
  EXPECT_TRUE(Decode(fitted.encoded).ok());
}

}  // namespace
}  // namespace vitrine
