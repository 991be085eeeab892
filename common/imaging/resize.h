// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_RESIZE_H_
#define VITRINE_COMMON_IMAGING_RESIZE_H_

#include <vector>

#include "common/imaging/geometry.h"
#include "common/imaging/image.h"

namespace vitrine {

using Rounding = v1::Preprocessing::Rounding;

// Float pixels in [0, 255], planar: [channels, height, width]. Values from bicubic interpolation may be outside this
// range.
struct FloatImage {
  int channels = 0;
  Size size;
  std::vector<float> values;
};

// Rounds every value to the nearest byte, clamped to [0, 255]. A resize of a FloatImage with PILLOW rounding calls this
// function first.
Image RoundedToBytes(const FloatImage& image);

// Part of a resized image, with its upper left corner at (top, left).
struct Region {
  int top = 0;
  int left = 0;
  Size size;
};

// Resizes with an antialiased separable filter: a triangle or Keys' cubic (a = -0.5). If the image is reduced, the
// filter is wider by the factor of the reduction. At the borders, the weights of the pixels inside the image are scaled
// to the sum 1. Without rounding, the result differs from torchvision's resize(antialias=True) on float tensors by at
// most 0.01 grey levels. With PILLOW rounding, the values are the bytes of Pillow's Image.resize. Equal images give
// equal bits on every processor.
FloatImage Resize(const Image& image, Size size, v1::Interpolation interpolation,
                  Rounding rounding = v1::Preprocessing::NONE);
FloatImage Resize(const FloatImage& image, Size size, v1::Interpolation interpolation,
                  Rounding rounding = v1::Preprocessing::NONE);

// Resizes an image and rounds to bytes, for display.
Image ResizeForDisplay(const Image& image, Size size, v1::Interpolation interpolation);

// Returns the part `region` of Resize(image, size, interpolation, rounding), with equal bits, without computing the
// rest. Time and memory depend on the region, not on `size`. Requires that the region is inside `size`.
FloatImage ResizeRegion(const Image& image, Size size, const Region& region, v1::Interpolation interpolation,
                        Rounding rounding = v1::Preprocessing::NONE);
FloatImage ResizeRegion(const FloatImage& image, Size size, const Region& region, v1::Interpolation interpolation,
                        Rounding rounding = v1::Preprocessing::NONE);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_RESIZE_H_
