// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_IMAGE_OPERATIONS_H_
#define VITRINE_TRAINER_AUGMENT_IMAGE_OPERATIONS_H_

#include <array>
#include <cstdint>

#include "common/imaging/image.h"

namespace vitrine {

// Operations of RandAugment and colour jitter on 8-bit images, grey or RGB. Results equal Pillow's (ImageOps,
// ImageEnhance, Image.transform with BICUBIC), which published recipes were trained with: values are truncated instead
// of rounded, and its cubic filter has a = -1. All are pure and thread-safe; sizes do not change.

Image AutoContrast(Image image);  // stretches every channel to 0..255
Image Equalize(Image image);      // flattens every channel's histogram
Image Invert(Image image);
Image Posterize(Image image, int bits);        // keeps the highest bits, 0 to 8
Image Solarize(Image image, int threshold);    // inverts values from the threshold on
Image SolarizeAdd(Image image, int addition);  // adds to values below 128

// Factor 1 is the original image; above 1 the effect is reversed.
Image Saturate(Image image, double factor);        // 0: grey
Image Contrast(Image image, double factor);        // 0: the mean grey
Image Brighten(Image image, double factor);        // 0: black
Image Sharpen(const Image& image, double factor);  // 0: smoothed by a 3x3 kernel

// Source of output pixel (x, y): (a x + b y + c, d x + e y + f), in pixels with centres at .5.
struct AffineMapping {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;

  static AffineMapping Rotation(double degrees, int width, int height);  // about the centre, counterclockwise
};

using Colour = std::array<uint8_t, 3>;

// Warps an image. Pixels from outside get colour `fill`; grey images use its first channel.
Image Warp(const Image& image, const AffineMapping& mapping, const Colour& fill);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_IMAGE_OPERATIONS_H_
