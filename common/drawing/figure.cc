// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/imaging/resize.h"

namespace vitrine {
namespace {

Image InColour(Image image) {
  if (image.channels == 3) return image;
  Image colour{image.width, image.height, 3, {}};
  colour.pixels.reserve(3 * image.pixels.size());
  for (const uint8_t grey : image.pixels) colour.pixels.insert(colour.pixels.end(), 3, grey);
  return colour;
}

}  // namespace

absl::Status CheckValues(int rows, int columns, std::span<const float> values) {
  if (rows < 1 || columns < 1 || static_cast<size_t>(rows) * static_cast<size_t>(columns) != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a map of ", rows, "x", columns, " cells cannot have ", values.size(), " values"));
  }
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    return absl::InvalidArgumentError("the map has a value that is not finite");
  }
  return absl::OkStatus();
}

Image EmptyImage(int width, int height) {
  Image image{.width = width, .height = height, .channels = 3, .pixels = {}};
  image.pixels.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255);
  return image;
}

Image ScaledToSide(const Image& image, int side) {
  const int longer = std::max(image.width, image.height);
  if (longer == side) return InColour(image);
  const double scale = side / static_cast<double>(longer);
  const auto scaled = [scale](int length) { return std::max(1, static_cast<int>(std::lrint(length * scale))); };
  return InColour(ResizeForDisplay(image, {.height = scaled(image.height), .width = scaled(image.width)},
                                   scale < 1 ? v1::BILINEAR : v1::BICUBIC));
}

}  // namespace vitrine
