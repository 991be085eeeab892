// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/image_operations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace vitrine {
namespace {

using Table = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

template <typename F>
Table TableOf(const F& f) {
  Table table;
  for (int i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(f(i));
  return table;
}

Image LookUp(Image image, const Table& table) {
  for (uint8_t& value : image.pixels) value = table[value];
  return image;
}

Histogram HistogramOf(const Image& image, int channel) {
  Histogram counts{};
  for (size_t i = channel; i < image.pixels.size(); i += image.channels) ++counts[image.pixels[i]];
  return counts;
}

// Replaces every value by its entry in a table, which `table` makes from the histogram of the value's channel.
template <typename F>
Image LookUpByHistogram(Image image, const F& table) {
  for (int channel = 0; channel < image.channels; ++channel) {
    const Table values = table(HistogramOf(image, channel));
    for (size_t i = channel; i < image.pixels.size(); i += image.channels) {
      image.pixels[i] = values[image.pixels[i]];
    }
  }
  return image;
}

Table Identity() {
  return TableOf([](int i) { return i; });
}

Table StretchedBy(const Histogram& counts) {
  int low = 0, high = 255;
  while (low < 255 && counts[low] == 0) ++low;
  while (high > 0 && counts[high] == 0) --high;
  if (high <= low) return Identity();
  const double scale = 255.0 / (high - low), offset = -low * scale;
  return TableOf([&](int i) { return std::clamp(static_cast<int>(i * scale + offset), 0, 255); });
}

Table FlattenedBy(const Histogram& counts) {
  int64_t pixels = 0, last = 0;
  int levels = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    pixels += count;
    last = count;
    ++levels;
  }
  const int64_t step = (pixels - last) / 255;
  if (levels <= 1 || step == 0) return Identity();
  int64_t sum = step / 2;
  return TableOf([&](int i) { return std::min<int64_t>(255, std::exchange(sum, sum + counts[i]) / step); });
}

// Computes from + factor (to - from) in single precision, clamped to 0..255 and truncated.
uint8_t Blend(int from, int to, float factor) {
  const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
  return value <= 0 ? 0 : value >= 255 ? 255 : static_cast<uint8_t>(value);
}

// ITU-R BT.601 luma in 16-bit fixed point.
int Luma(const uint8_t* rgb) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
}

// Returns the value at t, from 0 to 1, of the cubic that has the value v[1] and the slope v[2] - v[0] at 0, and the
// value v[2] and the slope v[3] - v[1] at 1.
double Cubic(const std::array<double, 4>& v, double t) {
  const double linear = -v[0] + v[2];
  const double square = 2 * (v[0] - v[1]) + v[2] - v[3];
  const double cube = -v[0] + v[1] - v[2] + v[3];
  return v[1] + t * (linear + t * (square + t * cube));
}

}  // namespace

Image AutoContrast(Image image) {
  return LookUpByHistogram(std::move(image), StretchedBy);
}

Image Equalize(Image image) {
  return LookUpByHistogram(std::move(image), FlattenedBy);
}

Image Invert(Image image) {
  return LookUp(std::move(image), TableOf([](int i) { return 255 - i; }));
}

Image Posterize(Image image, int bits) {
  return LookUp(std::move(image), TableOf([&](int i) { return i & ~((1 << (8 - bits)) - 1); }));
}

Image Solarize(Image image, int threshold) {
  return LookUp(std::move(image), TableOf([&](int i) { return i < threshold ? i : 255 - i; }));
}

Image SolarizeAdd(Image image, int addition) {
  return LookUp(std::move(image), TableOf([&](int i) { return i < 128 ? std::min(255, i + addition) : i; }));
}

Image Saturate(Image image, double factor) {
  if (image.channels == 1) return image;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const int grey = Luma(&image.pixels[i]);
    for (int c = 0; c < 3; ++c) {
      image.pixels[i + c] = Blend(grey, image.pixels[i + c], static_cast<float>(factor));
    }
  }
  return image;
}

Image Contrast(Image image, double factor) {
  const int64_t count = int64_t{image.width} * image.height;
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += image.channels == 1 ? image.pixels[i] : Luma(&image.pixels[3 * i]);
  }
  const int mean = static_cast<int>(std::lround(static_cast<double>(sum) / static_cast<double>(count)));
  return LookUp(std::move(image), TableOf([&](int i) { return Blend(mean, i, static_cast<float>(factor)); }));
}

Image Brighten(Image image, double factor) {
  return LookUp(std::move(image), TableOf([&](int i) { return Blend(0, i, static_cast<float>(factor)); }));
}

Image Sharpen(const Image& image, double factor) {
  Image result = image;
  const int channels = image.channels, row = image.width * channels;
  // The kernel needs all eight neighbours, so border pixels are not changed.
  for (int y = 1; y + 1 < image.height; ++y) {
    for (int x = channels; x < row - channels; ++x) {
      const uint8_t* at = &image.pixels[size_t(y) * row + x];
      int sum = 4 * *at;
      for (const int dy : {-row, 0, row}) sum += at[dy - channels] + at[dy] + at[dy + channels];
      const int smooth = (2 * sum + 13) / 26;  // sum of the kernel's weights is 13
      result.pixels[size_t(y) * row + x] = Blend(smooth, *at, static_cast<float>(factor));
    }
  }
  return result;
}

AffineMapping AffineMapping::Rotation(double degrees, int width, int height) {
  const double angle = -degrees * std::numbers::pi / 180;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double x = width / 2.0, y = height / 2.0;
  return {
      .a = cosine, .b = sine, .c = x - cosine * x - sine * y, .d = -sine, .e = cosine, .f = y + sine * x - cosine * y};
}

Image Warp(const Image& image, const AffineMapping& mapping, const Colour& fill) {
  const int channels = image.channels, row = image.width * channels;
  Image result = image;
  uint8_t* to = result.pixels.data();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x, to += channels) {
      const double from_x = mapping.a * (x + 0.5) + mapping.b * (y + 0.5) + mapping.c;
      const double from_y = mapping.d * (x + 0.5) + mapping.e * (y + 0.5) + mapping.f;
      if (!(from_x >= 0 && from_x < image.width && from_y >= 0 && from_y < image.height)) {
        std::copy_n(fill.data(), channels, to);
        continue;
      }
      const double floor_x = std::floor(from_x - 0.5), floor_y = std::floor(from_y - 0.5);
      const double right = from_x - 0.5 - floor_x, down = from_y - 0.5 - floor_y;
      std::array<int, 4> columns;
      std::array<const uint8_t*, 4> rows;
      for (int i = 0; i < 4; ++i) {
        columns[i] = std::clamp(static_cast<int>(floor_x) + i - 1, 0, image.width - 1) * channels;
        rows[i] = &image.pixels[size_t(std::clamp(static_cast<int>(floor_y) + i - 1, 0, image.height - 1)) * row];
      }
      for (int c = 0; c < channels; ++c) {
        std::array<double, 4> along;
        for (int i = 0; i < 4; ++i) {
          const uint8_t* line = rows[i] + c;
          along[i] = Cubic(
              {double(line[columns[0]]), double(line[columns[1]]), double(line[columns[2]]), double(line[columns[3]])},
              right);
        }
        const double value = Cubic(along, down);
        to[c] = value <= 0 ? 0 : value >= 255 ? 255 : static_cast<uint8_t>(value);
      }
    }
  }
  return result;
}

}  // namespace vitrine
