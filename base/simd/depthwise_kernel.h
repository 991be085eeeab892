// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_DEPTHWISE_KERNEL_H_
#define VITRINE_BASE_SIMD_DEPTHWISE_KERNEL_H_

#include <cstdint>

#include "base/simd/gelu.h"

// Included by one file per instruction set; see gelu.h.
namespace vitrine::cpu {

// A 3x3 convolution of every channel by itself over the grid of one image, zeros beyond its border, fp32:
// y = residual + bias + sum over the neighbours, or with a scale y = residual + scale GELU(bias + sum) + shift. x, y
// and residual are [rows columns, channels]; x and y do not overlap.
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
  const float* residual = nullptr;
  int64_t residual_stride = 0;
};

// A vector of channels of all tokens, so that its weights stay in registers. `load` and `store` take whole vectors or
// the last part of one.
template <class V, class Load, class Store>
[[gnu::always_inline]] inline void DepthwiseChannels(const DepthwiseCall& call, int64_t channel, Load load,
                                                     Store store) {
  using Reg = typename V::Reg;
  Reg weights[9];
#pragma GCC unroll 9
  for (int k = 0; k < 9; ++k) weights[k] = load(call.weights + k * call.channels + channel);
  const Reg bias = load(call.bias + channel), zero = V::Broadcast(0);
  const int64_t line = call.columns * call.x_stride;
  for (int64_t row = 0; row < call.rows; ++row) {
    const float* const middle = call.x + row * line + channel;
    const bool has_above = row > 0, has_below = row + 1 < call.rows;
    // A line beyond the border is one place of zeros again and again.
    const float* const lines[3] = {has_above ? middle - line : call.zeros + channel, middle,
                                   has_below ? middle + line : call.zeros + channel};
    const int64_t steps[3] = {has_above ? call.x_stride : 0, call.x_stride, has_below ? call.x_stride : 0};
    for (int64_t column = 0; column < call.columns; ++column) {
      const bool inside[3] = {column > 0, true, column + 1 < call.columns};
      Reg sum = bias;
#pragma GCC unroll 3
      for (int ky = 0; ky < 3; ++ky) {
        const float* const at = lines[ky] + column * steps[ky];
#pragma GCC unroll 3
        for (int kx = 0; kx < 3; ++kx) {
          sum = V::Fma(inside[kx] ? load(at + (kx - 1) * steps[ky]) : zero, weights[3 * ky + kx], sum);
        }
      }
      if (call.scale != nullptr) sum = V::Fma(GeluOf<V>(sum), load(call.scale + channel), load(call.shift + channel));
      const int64_t token = row * call.columns + column;
      if (call.residual != nullptr) sum = V::Add(load(call.residual + token * call.residual_stride + channel), sum);
      store(call.y + token * call.y_stride + channel, sum);
    }
  }
}

template <class V>
void RunDepthwise(const DepthwiseCall& call) {
  int64_t channel = 0;
  for (; channel + V::kLanes <= call.channels; channel += V::kLanes) {
    DepthwiseChannels<V>(
        call, channel, [](const float* from) { return V::Load(from); },
        [](float* to, typename V::Reg v) { V::Store(to, v); });
  }
  if (const int64_t rest = call.channels - channel; rest > 0) {
    DepthwiseChannels<V>(
        call, channel, [rest](const float* from) { return V::LoadPart(from, rest); },
        [rest](float* to, typename V::Reg v) { V::StorePart(to, v, rest); });
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_DEPTHWISE_KERNEL_H_
