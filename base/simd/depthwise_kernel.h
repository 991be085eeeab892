// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_DEPTHWISE_KERNEL_H_
#define VITRINE_BASE_SIMD_DEPTHWISE_KERNEL_H_

#include <cstdint>

#include "base/simd/gelu.h"

// Included by one file per instruction set; see gelu.h.
namespace vitrine::cpu {

// A 3x3 convolution of every channel by itself over the grid of one image, zeros beyond its border, fp32:
// y = bias + sum over the neighbours, or with a scale y = scale GELU(that) + shift. x and y are [rows columns,
// channels] and do not overlap.
struct DepthwiseCall {
  const float* x;
  int64_t x_stride;
  int64_t rows;
  int64_t columns;
  int64_t channels;
  const float* weights;  // [9, channels], neighbours row by row
  const float* bias;     // [channels]
  const float* zeros;    // [channels] zeros
  const float* scale;    // [channels] or null
  const float* shift;    // [channels] where there is a scale
  float* y;
  int64_t y_stride;
};

// One token: `taps` are its nine neighbours' rows. `load` and `store` take whole vectors or the last part of one.
template <class V, class Load, class Store>
[[gnu::always_inline]] inline void DepthwiseVector(const DepthwiseCall& call, const float* const* taps, int64_t channel,
                                                   float* y, Load load, Store store) {
  auto sum = load(call.bias + channel);
  for (int k = 0; k < 9; ++k) {
    sum = V::Fma(load(taps[k] + channel), load(call.weights + k * call.channels + channel), sum);
  }
  if (call.scale != nullptr) sum = V::Fma(GeluOf<V>(sum), load(call.scale + channel), load(call.shift + channel));
  store(y + channel, sum);
}

template <class V>
void RunDepthwise(const DepthwiseCall& call) {
  for (int64_t row = 0; row < call.rows; ++row) {
    for (int64_t column = 0; column < call.columns; ++column) {
      const float* taps[9];
      for (int k = 0; k < 9; ++k) {
        const int64_t r = row + k / 3 - 1, c = column + k % 3 - 1;
        const bool inside = r >= 0 && r < call.rows && c >= 0 && c < call.columns;
        taps[k] = inside ? call.x + (r * call.columns + c) * call.x_stride : call.zeros;
      }
      float* const y = call.y + (row * call.columns + column) * call.y_stride;
      int64_t channel = 0;
      for (; channel + V::kLanes <= call.channels; channel += V::kLanes) {
        DepthwiseVector<V>(
            call, taps, channel, y, [](const float* from) { return V::Load(from); },
            [](float* to, typename V::Reg v) { V::Store(to, v); });
      }
      if (const int64_t rest = call.channels - channel; rest > 0) {
        DepthwiseVector<V>(
            call, taps, channel, y, [rest](const float* from) { return V::LoadPart(from, rest); },
            [rest](float* to, typename V::Reg v) { V::StorePart(to, v, rest); });
      }
    }
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_DEPTHWISE_KERNEL_H_
