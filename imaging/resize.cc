// SPDX-License-Identifier: Apache-2.0
#include "imaging/resize.h"

#include <cstddef>

#include "imaging/row_resizer.h"

namespace vitrine {
namespace {

template <typename AnyImage>
FloatImage ResizeRows(const AnyImage& image, Size from, Size to, const Region& region,
                      v1::Interpolation interpolation) {
  RowResizer resizer(from, to, region, interpolation);
  const ptrdiff_t plane = static_cast<ptrdiff_t>(region.size.height) * region.size.width;
  FloatImage out{image.channels, region.size, std::vector<float>(image.channels * plane)};
  for (int y = 0; y < region.size.height; ++y) {
    resizer.Resize(y, image, out.values.data() + static_cast<ptrdiff_t>(y) * region.size.width, plane);
  }
  return out;
}

}  // namespace

FloatImage ResizeRegion(const Image& image, Size size, const Region& region, v1::Interpolation interpolation) {
  return ResizeRows(image, {image.height, image.width}, size, region, interpolation);
}

FloatImage ResizeRegion(const FloatImage& image, Size size, const Region& region, v1::Interpolation interpolation) {
  return ResizeRows(image, image.size, size, region, interpolation);
}

FloatImage Resize(const Image& image, Size size, v1::Interpolation interpolation) {
  return ResizeRegion(image, size, {0, 0, size}, interpolation);
}

FloatImage Resize(const FloatImage& image, Size size, v1::Interpolation interpolation) {
  return ResizeRegion(image, size, {0, 0, size}, interpolation);
}

}  // namespace vitrine
