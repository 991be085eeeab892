// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

struct GoldenResize {
  Size from, to;
  v1::Interpolation interpolation;
  std::vector<float> values;  // one channel
};

const std::vector<GoldenResize>& Goldens() {
  static const auto& goldens = *new std::vector<GoldenResize>{
#include "tests/golden/resize.inc"
  };
  return goldens;
}

TEST(Resize, AgreesWithTheRecordedResults) {
  ASSERT_FALSE(Goldens().empty());
  for (const GoldenResize& golden : Goldens()) {
    const Image image = NoiseImage(golden.from.width, golden.from.height, 1);
    const FloatImage resized = Resize(image, golden.to, golden.interpolation);
    ASSERT_EQ(resized.values.size(), golden.values.size());
    for (size_t i = 0; i < golden.values.size(); ++i) {
      EXPECT_NEAR(resized.values[i], golden.values[i], 0.005)
          << golden.from.width << " x " << golden.from.height << " to " << golden.to.width << " x " << golden.to.height;
    }
  }
}

struct PillowResize {
  Size from, to;
  int channels;
  v1::Interpolation interpolation;
  uint64_t hash;  // FNV-1a of the bytes, row by row with interleaved channels
};

// Returns noise of mostly black and white. The bicubic filter overshoots at every edge of this noise, so both passes
// must clamp.
Image Contrasting(int width, int height, int channels) {
  Image image = NoiseImage(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); i += 2) image.pixels[i] = image.pixels[i] < 128 ? 0 : 255;
  return image;
}

TEST(Resize, WithRoundingEqualsPillowExactly) {
  const PillowResize kRecorded[] = {
#include "tests/golden/resize_pillow.inc"
  };
  for (const PillowResize& recorded : kRecorded) {
    const Image image = Contrasting(recorded.from.width, recorded.from.height, recorded.channels);
    const FloatImage resized = Resize(image, recorded.to, recorded.interpolation, v1::Preprocessing::PILLOW);
    const size_t plane = static_cast<size_t>(recorded.to.height) * recorded.to.width;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < resized.values.size(); ++i) {
      const float value = resized.values[i % recorded.channels * plane + i / recorded.channels];
      hash = (hash ^ static_cast<uint8_t>(value)) * 0x100000001b3;
    }
    EXPECT_EQ(hash, recorded.hash) << recorded.from.width << " x " << recorded.from.height << " to "
                                   << recorded.to.width << " x " << recorded.to.height << ", " << recorded.channels
                                   << " channels, " << v1::Interpolation_Name(recorded.interpolation);
  }
}

TEST(Resize, ChannelsDoNotMix) {
  const Image grey = NoiseImage(37, 23, 1);
  const Image other = NoiseImage(37, 23, 1, 5);
  Image colour{37, 23, 3, {}};
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    colour.pixels.insert(colour.pixels.end(), {grey.pixels[i], other.pixels[i], 77});
  }
  const Size size = {9, 50};
  const FloatImage resized = Resize(colour, size, v1::BICUBIC);
  const size_t count = 9 * 50;
  ASSERT_EQ(resized.values.size(), 3 * count);
  const FloatImage first = Resize(grey, size, v1::BICUBIC);
  const FloatImage second = Resize(other, size, v1::BICUBIC);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(resized.values[i], first.values[i]);
    EXPECT_EQ(resized.values[count + i], second.values[i]);
    EXPECT_NEAR(resized.values[2 * count + i], 77, 1e-3);
  }
}

TEST(Resize, TheImagesOwnSizeChangesNothing) {
  const Image image = NoiseImage(33, 21, 3);
  for (const v1::Interpolation interpolation : {v1::BILINEAR, v1::BICUBIC}) {
    for (const Rounding rounding : {v1::Preprocessing::NONE, v1::Preprocessing::PILLOW}) {
      const FloatImage same = Resize(image, {21, 33}, interpolation, rounding);
      for (int i = 0; i < 33 * 21; ++i) {
        for (int c = 0; c < 3; ++c) ASSERT_EQ(same.values[c * 33 * 21 + i], image.pixels[i * 3 + c]);
      }
    }
  }
}

TEST(Resize, KeepsConstantImagesAndTheMean) {
  for (const v1::Interpolation interpolation : {v1::BILINEAR, v1::BICUBIC}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 500}, {500, 1}, {99, 7}}) {
      for (const float value : Resize(PlainImage(width, height, {200}), {11, 13}, interpolation).values) {
        ASSERT_NEAR(value, 200, 1e-3);
      }
    }
  }
}

void ExpectPartOfTheWhole(Size size, v1::Interpolation interpolation, Rounding rounding) {
  const Image image = NoiseImage(101, 67, 3);
  const FloatImage whole = Resize(image, size, interpolation, rounding);
  const Region region = {7, 11, {16, 9}};
  const FloatImage part = ResizeRegion(image, size, region, interpolation, rounding);
  ASSERT_EQ(part.size, region.size);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 9; ++x) {
        ASSERT_EQ(part.values[(c * 16 + y) * 9 + x],
                  whole.values[(c * size.height + y + 7) * static_cast<size_t>(size.width) + x + 11]);
      }
    }
  }
}

TEST(Resize, ARegionEqualsThatPartOfTheWholeResult) {
  for (const v1::Interpolation interpolation : {v1::BILINEAR, v1::BICUBIC}) {
    for (const Rounding rounding : {v1::Preprocessing::NONE, v1::Preprocessing::PILLOW}) {
      for (const Size size : {Size{40, 30}, Size{200, 300}}) ExpectPartOfTheWhole(size, interpolation, rounding);
    }
  }
}

TEST(Resize, ARegionOfAnEnormousResultNeedsMemoryOnlyForTheRegion) {
  // The whole result would need 64 GiB.
  const Image image = NoiseImage(8192, 1, 1);
  const FloatImage part = ResizeRegion(image, {8192, 1 << 21}, {4000, 1 << 20, {4, 4}}, v1::BILINEAR);
  EXPECT_EQ(part.values.size(), 16u);
}

TEST(Resize, FloatsAndBytesGiveTheSameResult) {
  const Image image = NoiseImage(45, 31, 3);
  FloatImage floats{3, {31, 45}, std::vector<float>(image.pixels.size())};
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 45 * 31; ++i) floats.values[c * 45 * 31 + i] = image.pixels[i * 3 + c];
  }
  // With these sizes, a result is the weighted sum of at most 4, at most 8, or more than 8 pixels of a row.
  for (const Size size : {Size{40, 60}, Size{20, 30}, Size{12, 12}, Size{3, 4}, Size{1, 1}}) {
    for (const auto interpolation : {v1::BILINEAR, v1::BICUBIC}) {
      EXPECT_EQ(Resize(image, size, interpolation).values, Resize(floats, size, interpolation).values) << size.width;
    }
  }
}

}  // namespace
}  // namespace vitrine
