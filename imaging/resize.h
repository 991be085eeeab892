// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_RESIZE_H_
#define VITRINE_IMAGING_RESIZE_H_

#include <vector>

#include "imaging/geometry.h"
#include "imaging/image.h"

namespace vitrine {

using Rounding = v1::Preprocessing::Rounding;

// Pixels as floats in [0, 255] (bicubic may overshoot), planar: [channels, height, width].
struct FloatImage {
  int channels = 0;
  Size size;
  std::vector<float> values;
};

// Every value rounded to the nearest byte, cut to 0 and 255: what is resized where rounding is PILLOW.
Image RoundedToBytes(const FloatImage& image);

// A part of the resized picture: `size` at (top, left).
struct Region {
  int top = 0;
  int left = 0;
  Size size;
};

// Antialiased separable resize, the definition of torchvision's resize(antialias=True) on float tensors: triangle or
// Keys (a = -0.5) filter, support scaled by the reduction, weights normalised at the borders, no rounding. Agrees with
// it within 0.01 of a grey level. With PILLOW the values are the bytes of Pillow's Image.resize. The same picture gives
// the same bits on every processor.
FloatImage Resize(const Image& image, Size size, v1::Interpolation interpolation,
                  Rounding rounding = v1::Preprocessing::NONE);
FloatImage Resize(const FloatImage& image, Size size, v1::Interpolation interpolation,
                  Rounding rounding = v1::Preprocessing::NONE);

// The same rounded to bytes, to be looked at. Gives way after every row.
Image ResizeForEyes(const Image& image, Size size, v1::Interpolation interpolation);

// The part `region` of Resize(image, size, interpolation, rounding), bit by bit, without computing the rest: cost and
// memory follow the region, however large `size` is. Requires that the region lies inside `size`.
FloatImage ResizeRegion(const Image& image, Size size, const Region& region, v1::Interpolation interpolation,
                        Rounding rounding = v1::Preprocessing::NONE);
FloatImage ResizeRegion(const FloatImage& image, Size size, const Region& region, v1::Interpolation interpolation,
                        Rounding rounding = v1::Preprocessing::NONE);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_RESIZE_H_
