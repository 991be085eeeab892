// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/preprocess.h"

#include <gtest/gtest.h>

#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

v1::Preprocessing Stretch(int channels, int height, int width) {
  v1::Preprocessing preprocessing;
  preprocessing.set_channels(channels);
  for (int c = 0; c < channels; ++c) {
    preprocessing.add_mean(0.1f * (c + 1));
    preprocessing.add_std(0.2f * (c + 1));
  }
  preprocessing.set_interpolation(v1::BILINEAR);
  preprocessing.mutable_fixed()->set_height(height);
  preprocessing.mutable_fixed()->set_width(width);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  return preprocessing;
}

std::vector<float> Input(const Image& image, const v1::Preprocessing& preprocessing) {
  return Preprocess(image, preprocessing, *PlanGeometry(preprocessing, {image.height, image.width}));
}

TEST(Preprocess, NormalizesEveryChannelWithItsOwnNumbers) {
  const std::vector<float> input = Input(PlainImage(9, 7, {51, 102, 255}), Stretch(3, 2, 2));
  ASSERT_EQ(input.size(), 12u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(input[i], (0.2f - 0.1f) / 0.2f, 1e-5);
    EXPECT_NEAR(input[4 + i], (0.4f - 0.2f) / 0.4f, 1e-5);
    EXPECT_NEAR(input[8 + i], (1.0f - 0.3f) / 0.6f, 1e-5);
  }
}

TEST(Preprocess, AColourImageForAGreyModelBecomesLuma) {
  const std::vector<float> input = Input(PlainImage(5, 5, {255, 0, 0}), Stretch(1, 3, 3));
  ASSERT_EQ(input.size(), 9u);
  EXPECT_NEAR(input[4], (0.299f - 0.1f) / 0.2f, 1e-5);
  EXPECT_NEAR(Input(PlainImage(5, 5, {0, 255, 0}), Stretch(1, 3, 3))[0], (0.587f - 0.1f) / 0.2f, 1e-5);
  EXPECT_NEAR(Input(PlainImage(5, 5, {0, 0, 255}), Stretch(1, 3, 3))[0], (0.114f - 0.1f) / 0.2f, 1e-5);
}

TEST(Preprocess, AGreyImageForAColourModelIsRepeated) {
  const Image grey = NoiseImage(6, 6, 1);
  Image colour{6, 6, 3, {}};
  for (const uint8_t value : grey.pixels) colour.pixels.insert(colour.pixels.end(), 3, value);
  EXPECT_EQ(Input(grey, Stretch(3, 4, 5)), Input(colour, Stretch(3, 4, 5)));
}

TEST(Preprocess, CropsTheScaledImage) {
  v1::Preprocessing preprocessing = Stretch(1, 8, 8);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::CENTER_CROP);
  // The left and right thirds are black, and the middle third is white. The crop is the middle third.
  Image image{24, 8, 1, {}};
  for (int i = 0; i < 24 * 8; ++i) image.pixels.push_back(i % 24 >= 8 && i % 24 < 16 ? 255 : 0);
  for (const float value : Input(image, preprocessing)) EXPECT_NEAR(value, (1 - 0.1f) / 0.2f, 1e-5);
}

TEST(Preprocess, FloatsAndBytesGiveTheSameResult) {
  const Image image = NoiseImage(20, 10, 3);
  FloatImage floats{3, {10, 20}, std::vector<float>(600)};
  for (int i = 0; i < 600; ++i) floats.values[i % 3 * 200 + i / 3] = image.pixels[i];
  const v1::Preprocessing preprocessing = Stretch(3, 7, 7);
  const Geometry geometry = *PlanGeometry(preprocessing, {10, 20});
  EXPECT_EQ(Preprocess(image, preprocessing, geometry), Preprocess(floats, preprocessing, geometry));
}

v1::Preprocessing RoundedLikePillow(v1::Preprocessing preprocessing) {
  preprocessing.set_rounding(v1::Preprocessing::PILLOW);
  return preprocessing;
}

TEST(Preprocess, WithRoundingNormalizesLikeTorchvision) {
  const v1::Preprocessing preprocessing = RoundedLikePillow(Stretch(3, 7, 5));
  const Image image = NoiseImage(40, 30, 3);
  const FloatImage bytes = Resize(image, {7, 5}, v1::BILINEAR, v1::Preprocessing::PILLOW);
  const std::vector<float> input = Input(image, preprocessing);
  for (size_t i = 0; i < input.size(); ++i) {
    const float mean = preprocessing.mean(static_cast<int>(i / 35)), std = preprocessing.std(static_cast<int>(i / 35));
    EXPECT_EQ(input[i], (bytes.values[i] / 255 - mean) / std);
  }
}

TEST(Preprocess, WithRoundingFloatsCountAsTheNearestBytes) {
  const Image image = NoiseImage(20, 10, 3);
  FloatImage floats{3, {10, 20}, std::vector<float>(600)};
  for (int i = 0; i < 600; ++i) floats.values[i % 3 * 200 + i / 3] = image.pixels[i] + (i % 2 == 0 ? 0.4f : -0.4f);
  const v1::Preprocessing preprocessing = RoundedLikePillow(Stretch(3, 7, 7));
  const Geometry geometry = *PlanGeometry(preprocessing, {10, 20});
  EXPECT_EQ(Preprocess(image, preprocessing, geometry), Preprocess(floats, preprocessing, geometry));
}

}  // namespace
}  // namespace vitrine
