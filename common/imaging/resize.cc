// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/imaging/row_resizer.h"

namespace vitrine {
namespace {

template <typename AnyImage>
FloatImage ResizeRows(const AnyImage& image, Size from, Size to, const Region& region, v1::Interpolation interpolation,
                      Rounding rounding) {
  RowResizer resizer(from, to, region, interpolation, rounding);
  const ptrdiff_t plane = static_cast<ptrdiff_t>(region.size.height) * region.size.width;
  FloatImage out{image.channels, region.size, std::vector<float>(image.channels * plane)};
  for (int y = 0; y < region.size.height; ++y) {
    resizer.Resize(y, image, out.values.data() + static_cast<ptrdiff_t>(y) * region.size.width, plane);
  }
  return out;
}

}  // namespace

Image RoundedToBytes(const FloatImage& image) {
  const size_t plane = static_cast<size_t>(image.size.height) * image.size.width;
  Image rounded{image.size.width, image.size.height, image.channels, std::vector<uint8_t>(image.values.size())};
  for (size_t i = 0; i < image.values.size(); ++i) {
    const float value = std::clamp(image.values[i], 0.0f, 255.0f);
    rounded.pixels[i % plane * image.channels + i / plane] = static_cast<uint8_t>(std::lround(value));
  }
  return rounded;
}

FloatImage ResizeRegion(const Image& image, Size size, const Region& region, v1::Interpolation interpolation,
                        Rounding rounding) {
  return ResizeRows(image, {image.height, image.width}, size, region, interpolation, rounding);
}

FloatImage ResizeRegion(const FloatImage& image, Size size, const Region& region, v1::Interpolation interpolation,
                        Rounding rounding) {
  if (rounding == v1::Preprocessing::PILLOW) {
    return ResizeRegion(RoundedToBytes(image), size, region, interpolation, rounding);
  }
  return ResizeRows(image, image.size, size, region, interpolation, rounding);
}

FloatImage Resize(const Image& image, Size size, v1::Interpolation interpolation, Rounding rounding) {
  return ResizeRegion(image, size, {0, 0, size}, interpolation, rounding);
}

FloatImage Resize(const FloatImage& image, Size size, v1::Interpolation interpolation, Rounding rounding) {
  return ResizeRegion(image, size, {0, 0, size}, interpolation, rounding);
}

Image ResizeForDisplay(const Image& image, Size size, v1::Interpolation interpolation) {
  RowResizer resizer({image.height, image.width}, size, {0, 0, size}, interpolation);
  Image resized{size.width, size.height, image.channels, {}};
  resized.pixels.resize(static_cast<size_t>(size.width) * size.height * image.channels);
  std::vector<float> row(static_cast<size_t>(size.width) * image.channels);
  uint8_t* out = resized.pixels.data();
  for (int y = 0; y < size.height; ++y) {
    resizer.Resize(y, image, row.data(), size.width);
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        const float value = row[static_cast<size_t>(c) * size.width + x];
        *out++ = static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
      }
    }
  }
  return resized;
}

}  // namespace vitrine
