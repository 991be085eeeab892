// SPDX-License-Identifier: Apache-2.0
#include "tests/models/parity/hashed.h"

#include <ATen/ops/empty.h>

#include <cstdint>

namespace vitrine::testing {
namespace {

uint64_t Fnv1a(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

// Returns 24 bits of splitmix64's output function.
uint64_t Bits24(uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return (state ^ (state >> 31)) >> 40;
}

}  // namespace

at::Tensor HashedTensor(std::string_view key, at::IntArrayRef shape, double centre, double half) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.data_ptr<float>();
  const double step = half / 8388608.0;
  uint64_t state = Fnv1a(key);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state += 0x9e3779b97f4a7c15;
    // The computation is exact in fp64, except for one rounding to fp32.
    values[i] = static_cast<float>(centre + (static_cast<double>(Bits24(state)) - 8388608.0) * step);
  }
  return tensor;
}

at::Tensor HashedImage(const std::string& key, int channels, int height, int width) {
  constexpr int kSquare = 32;
  const int rows = (height + kSquare - 1) / kSquare, columns = (width + kSquare - 1) / kSquare;
  const at::Tensor coarse = HashedTensor(key + ".coarse", {channels, rows, columns}, 0, 1);
  at::Tensor image = HashedTensor(key + ".fine", {channels, height, width}, 0, 0.5);
  const float* square = coarse.data_ptr<float>();
  float* pixel = image.data_ptr<float>();
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) *pixel++ += square[(c * rows + y / kSquare) * columns + x / kSquare];
    }
  }
  return image;
}

}  // namespace vitrine::testing
