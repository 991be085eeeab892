// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_IMAGE_OPERATIONS_H_
#define VITRINE_TRAINER_AUGMENT_IMAGE_OPERATIONS_H_

#include <array>
#include <cstdint>

#include "common/imaging/image.h"

namespace vitrine {

// Operations of RandAugment and colour jitter on 8-bit images, grey or RGB. Results equal Pillow's (ImageOps,
// ImageEnhance, Image.transform with BICUBIC), because published recipes were trained with Pillow. Pillow truncates
// values instead of rounding them, and the parameter a of its cubic filter is -1. All functions are pure and
// thread-safe, and keep the image's size.

Image AutoContrast(Image image);  // stretches every channel to 0..255
Image Equalize(Image image);      // flattens every channel's histogram
Image Invert(Image image);
Image Posterize(Image image, int bits);        // keeps the `bits` highest bits, 0 to 8
Image Solarize(Image image, int threshold);    // inverts values of at least `threshold`
Image SolarizeAdd(Image image, int addition);  // adds to values below 128

// With factor 1, each function returns the original image. With factor 0, it returns the image that the comment after
// its declaration describes. A factor above 1 increases the difference between the result and the image of factor 0.
Image Saturate(Image image, double factor);        // factor 0: the image in grey
Image Contrast(Image image, double factor);        // factor 0: the image's mean grey
Image Brighten(Image image, double factor);        // factor 0: black
Image Sharpen(const Image& image, double factor);  // factor 0: the image smoothed by a 3x3 kernel

// Maps output pixel (x, y) to its source (a x + b y + c, d x + e y + f). Pixel centres are at 0.5, 1.5, ...
struct AffineMapping {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;

  static AffineMapping Rotation(double degrees, int width, int height);  // about the centre, counterclockwise
};

using Colour = std::array<uint8_t, 3>;

// Warps an image. Pixels outside the source get colour `fill`; grey images use the first channel of `fill`.
Image Warp(const Image& image, const AffineMapping& mapping, const Colour& fill);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_IMAGE_OPERATIONS_H_
