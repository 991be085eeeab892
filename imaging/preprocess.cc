// SPDX-License-Identifier: Apache-2.0
#include "imaging/preprocess.h"

#include <cstddef>
#include <utility>

namespace vitrine {
namespace {

void ToGrey(FloatImage& image) {
  const size_t count = image.values.size() / 3;
  float* red = image.values.data();
  const float* green = red + count;
  const float* blue = green + count;
  for (size_t i = 0; i < count; ++i) red[i] = 0.299f * red[i] + 0.587f * green[i] + 0.114f * blue[i];
  image.values.resize(count);
  image.channels = 1;
}

std::vector<float> Normalise(FloatImage resized, const v1::Preprocessing& preprocessing) {
  const int channels = preprocessing.channels();
  if (channels == 1 && resized.channels == 3) ToGrey(resized);
  const size_t count = static_cast<size_t>(resized.size.height) * resized.size.width;
  const bool repeat = resized.channels < channels;
  std::vector<float> repeated(repeat ? count * channels : 0);
  float* to = repeat ? repeated.data() : resized.values.data();
  for (int c = 0; c < channels; ++c, to += count) {
    const float* from = resized.values.data() + (repeat ? 0 : c * count);
    const float factor = 1 / (255 * preprocessing.std(c));
    const float shift = preprocessing.mean(c) / preprocessing.std(c);
    for (size_t i = 0; i < count; ++i) to[i] = from[i] * factor - shift;
  }
  return repeat ? std::move(repeated) : std::move(resized.values);
}

}  // namespace

std::vector<float> Preprocess(const Image& image, const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  const Region region = {geometry.top, geometry.left, geometry.input};
  return Normalise(ResizeRegion(image, geometry.scaled, region, preprocessing.interpolation()), preprocessing);
}

std::vector<float> Preprocess(const FloatImage& image, const v1::Preprocessing& preprocessing,
                              const Geometry& geometry) {
  const Region region = {geometry.top, geometry.left, geometry.input};
  return Normalise(ResizeRegion(image, geometry.scaled, region, preprocessing.interpolation()), preprocessing);
}

}  // namespace vitrine
