// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/preprocess.h"

#include <cstddef>

namespace vitrine {
namespace {

void ToGrey(float* row, int width) {
  const float* green = row + width;
  const float* blue = green + width;
  for (int x = 0; x < width; ++x) row[x] = 0.299f * row[x] + 0.587f * green[x] + 0.114f * blue[x];
}

template <typename AnyImage>
std::vector<float> PreprocessRows(const AnyImage& image, Size size, const v1::Preprocessing& preprocessing,
                                  const Geometry& geometry) {
  InputRows input(size, preprocessing, geometry);
  for (int y = 0; y < geometry.input.height; ++y) {
    input.Make(y, image);
  }
  return input.Take();
}

}  // namespace

InputRows::InputRows(Size size, const v1::Preprocessing& preprocessing, const Geometry& geometry)
    : preprocessing_(preprocessing),
      geometry_(geometry),
      resizer_(size, geometry.scaled, {geometry.top, geometry.left, geometry.input}, preprocessing.interpolation(),
               preprocessing.rounding()),
      resized_(size_t{RowResizer::kMostChannels} * geometry.input.width),
      values_(static_cast<size_t>(preprocessing.channels()) * geometry.input.height * geometry.input.width) {}

void InputRows::Make(int y, const uint8_t* const* rows, int channels) {
  resizer_.Resize(y, rows, channels, resized_.data(), geometry_.input.width);
  Normalise(y, channels);
}

void InputRows::Make(int y, const Image& source) {
  resizer_.Resize(y, source, resized_.data(), geometry_.input.width);
  Normalise(y, source.channels);
}

void InputRows::Make(int y, const FloatImage& source) {
  resizer_.Resize(y, source, resized_.data(), geometry_.input.width);
  Normalise(y, source.channels);
}

void InputRows::Normalise(int y, int channels) {
  const int width = geometry_.input.width;
  const ptrdiff_t plane = static_cast<ptrdiff_t>(geometry_.input.height) * width;
  if (preprocessing_.channels() == 1 && channels == 3) ToGrey(resized_.data(), width);
  const bool repeat = channels < preprocessing_.channels();
  for (int c = 0; c < preprocessing_.channels(); ++c) {
    const float* from = resized_.data() + (repeat ? 0 : c * width);
    float* to = values_.data() + c * plane + static_cast<ptrdiff_t>(y) * width;
    if (preprocessing_.rounding() == v1::Preprocessing::PILLOW) {
      // Uses the operations of torchvision's ToTensor and Normalize in the same order, so that the bits are equal.
      const float mean = preprocessing_.mean(c), std = preprocessing_.std(c);
      for (int x = 0; x < width; ++x) to[x] = (from[x] / 255 - mean) / std;
      continue;
    }
    const float factor = 1 / (255 * preprocessing_.std(c));
    const float shift = preprocessing_.mean(c) / preprocessing_.std(c);
    for (int x = 0; x < width; ++x) to[x] = from[x] * factor - shift;
  }
}

std::vector<float> Preprocess(const Image& image, const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  return PreprocessRows(image, {image.height, image.width}, preprocessing, geometry);
}

std::vector<float> Preprocess(const FloatImage& image, const v1::Preprocessing& preprocessing,
                              const Geometry& geometry) {
  if (preprocessing.rounding() == v1::Preprocessing::PILLOW) {
    return Preprocess(RoundedToBytes(image), preprocessing, geometry);
  }
  return PreprocessRows(image, image.size, preprocessing, geometry);
}

}  // namespace vitrine
