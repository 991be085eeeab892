// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/view.h"

#include <algorithm>
#include <cmath>

#include "common/imaging/preprocess.h"
#include "common/status_macros.h"

namespace vitrine {
absl::StatusOr<Size> DrawSize(const v1::Recipe& recipe, const v1::Preprocessing& preprocessing, Size image,
                              CounterRandom& random) {
  if (recipe.sizes().empty()) {
    ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, image));
    return geometry.input;
  }
  double total = 0;
  for (const v1::TrainingSize& size : recipe.sizes()) total += size.weight();
  double left = random.Uniform() * total;
  const v1::TrainingSize* drawn = &recipe.sizes(0);
  for (const v1::TrainingSize& size : recipe.sizes()) {
    drawn = &size;
    if ((left -= size.weight()) < 0) break;
  }
  return Size{drawn->height(), drawn->width()};
}

View DrawView(const v1::Augmentation& augmentation, Size image, Size size, CounterRandom& random) {
  const double min_scale = augmentation.has_min_scale() ? augmentation.min_scale() : 1;
  const double log_stretch = augmentation.has_max_stretch() ? std::log(augmentation.max_stretch()) : 0;
  // Always draws five random numbers, whatever the settings are.
  const double scale = random.Uniform(min_scale, 1);
  const double stretch = std::exp(random.Uniform(-log_stretch, log_stretch));
  const double aspect = double(size.width) / size.height * stretch;
  const double height = std::min<double>(image.height, image.width / aspect) * std::sqrt(scale);
  View view{.size = size};
  view.height = std::clamp<int>(std::lround(height), 1, image.height);
  view.width = std::clamp<int>(std::lround(height * aspect), 1, image.width);
  const int padding = augmentation.crop_padding();
  const int spare_x = image.width - view.width;
  const int spare_y = image.height - view.height;
  const bool moves = padding > 0 || augmentation.has_min_scale();
  const double place_x = random.Uniform(), place_y = random.Uniform();
  view.left = moves ? static_cast<int>(place_x * (spare_x + 2 * padding + 1)) - padding : spare_x / 2;
  view.top = moves ? static_cast<int>(place_y * (spare_y + 2 * padding + 1)) - padding : spare_y / 2;
  view.mirrored = random.Uniform() < 0.5 && augmentation.flip();
  return view;
}

Colour MeanColour(const v1::Preprocessing& preprocessing) {
  Colour colour;
  for (int channel = 0; channel < 3; ++channel) {
    const int known = std::min(channel, preprocessing.mean_size() - 1);
    const float mean = known < 0 ? 0.5f : preprocessing.mean(known);
    colour[channel] = static_cast<uint8_t>(std::clamp(std::lround(mean * 255), 0L, 255L));
  }
  return colour;
}

Image CutWindow(const Image& image, const View& view, const Colour& outside) {
  const int channels = image.channels;
  Image window{.width = view.width, .height = view.height, .channels = channels, .pixels = {}};
  window.pixels.resize(size_t(view.width) * view.height * channels);
  uint8_t* to = window.pixels.data();
  for (int y = 0; y < view.height; ++y) {
    const int from_y = view.top + y;
    for (int x = 0; x < view.width; ++x, to += channels) {
      const int from_x = view.left + (view.mirrored ? view.width - 1 - x : x);
      const bool inside = from_y >= 0 && from_y < image.height && from_x >= 0 && from_x < image.width;
      const uint8_t* from = inside ? &image.pixels[(size_t(from_y) * image.width + from_x) * channels] : outside.data();
      std::copy_n(from, channels, to);
    }
  }
  return window;
}

Image Scaled(const Image& source, Size size, v1::Interpolation interpolation, Rounding rounding) {
  if (source.width == size.width && source.height == size.height) return source;
  const FloatImage scaled = Resize(source, size, interpolation, rounding);
  Image image{.width = size.width, .height = size.height, .channels = scaled.channels, .pixels = {}};
  image.pixels.resize(scaled.values.size());
  const size_t plane = static_cast<size_t>(size.width) * size.height;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const float value = scaled.values[i % scaled.channels * plane + i / scaled.channels];
    image.pixels[i] = static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
  }
  return image;
}

std::vector<float> RenderView(const Image& image, const View& view, const v1::Preprocessing& preprocessing) {
  const Size window{view.height, view.width};
  const Geometry geometry{.original = window, .scaled = view.size, .top = 0, .left = 0, .input = view.size};
  return Preprocess(CutWindow(image, view, MeanColour(preprocessing)), preprocessing, geometry);
}

}  // namespace vitrine
