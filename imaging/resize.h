#ifndef VITRINE_IMAGING_RESIZE_H_
#define VITRINE_IMAGING_RESIZE_H_

#include <vector>

#include "imaging/geometry.h"
#include "imaging/image.h"

namespace vitrine {

// Pixels as floats in [0, 255] (bicubic may overshoot), planar: [channels, height, width].
struct FloatImage {
  int channels = 0;
  Size size;
  std::vector<float> values;
};

// Antialiased separable resize, the definition of torchvision's resize(antialias=True) on float tensors: triangle or
// Keys (a = -0.5) filter, support scaled by the reduction, weights normalised at the borders, no rounding.
FloatImage Resize(const Image& image, Size size, v1::Interpolation interpolation);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_RESIZE_H_
