// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_KERNELS_DEPTHWISE_KERNEL_H_
#define VITRINE_REFERENCE_KERNELS_DEPTHWISE_KERNEL_H_

#include <cstdint>

#include "reference/kernels/gelu_kernel.h"
#include "reference/kernels/kernel_table.h"

// Included by one file per instruction set; see gelu_kernel.h.
namespace vitrine::cpu {

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

#endif  // VITRINE_REFERENCE_KERNELS_DEPTHWISE_KERNEL_H_
