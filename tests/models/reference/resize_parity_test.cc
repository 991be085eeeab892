// SPDX-License-Identifier: Apache-2.0
// Compares our resize with the operator that torchvision's resize(antialias=True) calls on float tensors.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/imaging/resize.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

FloatImage Planar(const Image& image) {
  FloatImage planar{image.channels, {image.height, image.width}, std::vector<float>(image.pixels.size())};
  const size_t count = static_cast<size_t>(image.width) * image.height;
  for (size_t i = 0; i < count; ++i) {
    for (int c = 0; c < image.channels; ++c) planar.values[c * count + i] = image.pixels[i * image.channels + c];
  }
  return planar;
}

float LargestDifference(const Image& image, Size size, v1::Interpolation interpolation) {
  FloatImage planar = Planar(image);
  const at::Tensor in = at::from_blob(planar.values.data(), {1, image.channels, image.height, image.width});
  const std::vector<int64_t> out_size = {size.height, size.width};
  const at::Tensor expected = (interpolation == v1::BICUBIC ? at::_upsample_bicubic2d_aa(in, out_size, false)
                                                            : at::_upsample_bilinear2d_aa(in, out_size, false))
                                  .contiguous();
  const FloatImage resized = Resize(image, size, interpolation);
  float largest = 0;
  for (size_t i = 0; i < resized.values.size(); ++i) {
    largest = std::max(largest, std::abs(resized.values[i] - expected.data_ptr<float>()[i]));
  }
  return largest;
}

TEST(Resize, AgreesWithTorchvision) {
  constexpr Size kFrom[] = {{1, 1}, {1, 300}, {300, 1}, {32, 32}, {28, 28}, {97, 61}, {375, 500}, {800, 601}};
  constexpr Size kTo[] = {{1, 1}, {4, 576}, {24, 24}, {32, 48}, {33, 31}, {224, 224}};
  for (const Size from : kFrom) {
    for (const int channels : {1, 3}) {
      const Image image = NoiseImage(from.width, from.height, channels);
      for (const Size to : kTo) {
        for (const v1::Interpolation interpolation : {v1::BILINEAR, v1::BICUBIC}) {
          EXPECT_LE(LargestDifference(image, to, interpolation), 0.01f)
              << from.width << " x " << from.height << " to " << to.width << " x " << to.height << ", "
              << v1::Interpolation_Name(interpolation);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitrine
