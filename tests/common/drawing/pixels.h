// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_DRAWING_PIXELS_H_
#define VITRINE_TESTS_COMMON_DRAWING_PIXELS_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>

#include "absl/status/statusor.h"
#include "common/imaging/decode.h"

namespace vitrine {

using Rgb = std::array<int, 3>;

inline Image Flat(int width, int height, Rgb colour) {
  Image image{.width = width, .height = height, .channels = 3, .pixels = {}};
  for (int i = 0; i < width * height; ++i) {
    for (const int channel : colour) image.pixels.push_back(static_cast<uint8_t>(channel));
  }
  return image;
}

// Returns an image of random pixels, the worst case for compression.
inline Image Noise(int width, int height, int channels) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  std::mt19937 random(static_cast<unsigned>(width * 31 + height * 7 + channels));
  for (int i = 0; i < width * height * channels; ++i) image.pixels.push_back(static_cast<uint8_t>(random()));
  return image;
}

inline Rgb At(const Image& image, int x, int y) {
  const size_t first = (static_cast<size_t>(y) * image.width + x) * 3;
  return {image.pixels[first], image.pixels[first + 1], image.pixels[first + 2]};
}

inline int Brightness(const Rgb& colour) {
  return std::accumulate(colour.begin(), colour.end(), 0);
}

// Decodes a drawing. If `png` is an error or is not an image, fails the test and returns an empty image.
inline Image Seen(const absl::StatusOr<std::string>& png) {
  EXPECT_TRUE(png.ok()) << png.status();
  if (!png.ok()) return {};
  const auto image = Decode(*png);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *image : Image();
}

// Returns the number of pixels in [left, right) x [top, bottom) that are darker than `limit` (the sum of the channels).
// Used to detect text on white.
inline int DarkPixels(const Image& image, int left, int top, int right, int bottom, int limit = 400) {
  int dark = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) dark += Brightness(At(image, x, y)) < limit;
  }
  return dark;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_DRAWING_PIXELS_H_
