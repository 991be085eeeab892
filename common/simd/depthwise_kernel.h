// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_DEPTHWISE_KERNEL_H_
#define VITRINE_COMMON_SIMD_DEPTHWISE_KERNEL_H_

#include <cstdint>

#include "common/simd/gelu.h"

// Templates for files that are compiled for one instruction set; see gelu.h.
namespace vitrine::cpu {

// A zero-padded 3x3 depthwise convolution over the token grid of one image, in fp32. `sum` is the sum of weight * x
// over a token and its eight neighbours. Without a scale, y is residual + bias + sum. With a scale, y is
// residual + scale * GELU(bias + sum) + shift. x, y and residual are [rows * columns, channels]; x and y must not
// overlap.
struct DepthwiseCall {
  const float* x;
  int64_t x_stride;
  int64_t rows;
  int64_t columns;
  int64_t channels;
  const float* weights;  // [9, channels]: weights of the 3x3 tokens, row by row
  const float* bias;     // [channels]
  const float* zeros;    // [channels] zeros
  const float* scale;    // [channels]; null: no GELU
  const float* shift;    // [channels]; used if there is a scale
  float* y;
  int64_t y_stride;
  const float* residual = nullptr;
  int64_t residual_stride = 0;
  // Rows of the grid to compute: `wanted_rows` rows, beginning with row `first_row`. If `wanted_rows` is negative, all
  // rows beginning with row `first_row`.
  int64_t first_row = 0;
  int64_t wanted_rows = -1;
};

// Computes one vector of channels in one row of tokens. With one vector at a time, the weights stay in registers, and
// the three input rows stay in the first-level cache. `load` and `store` handle whole vectors or a partial last vector.
// Each sum is added in a fixed order. Fields for the inner loop are copied from the call, because the compiler assumes
// that any vector store may change the call.
template <class V, class Gelu, class Load, class Store>
class DepthwiseChannels {
 public:
  [[gnu::always_inline]] DepthwiseChannels(const DepthwiseCall& call, int64_t channel, Load load, Store store)
      : call_(call),
        channel_(channel),
        load_(load),
        store_(store),
        bias_(load(call.bias + channel)),
        columns_(call.columns),
        has_gelu_(call.scale != nullptr),
        scale_(load(has_gelu_ ? call.scale + channel : call.zeros + channel)),
        shift_(load(has_gelu_ ? call.shift + channel : call.zeros + channel)),
        y_step_(call.y_stride),
        residual_step_(call.residual_stride) {
#pragma GCC unroll 9
    for (int k = 0; k < 9; ++k) weights_[k] = load(call.weights + k * call.channels + channel);
  }

  [[gnu::always_inline]] void Run(int64_t row) {
    const int64_t line = columns_ * call_.x_stride;
    const float* const middle = call_.x + row * line + channel_;
    const bool has_above = row > 0, has_below = row + 1 < call_.rows;
    // All tokens of a row outside the grid read the same zeros, so the step from token to token is 0 in such a row.
    lines_[0] = has_above ? middle - line : call_.zeros + channel_;
    lines_[1] = middle;
    lines_[2] = has_below ? middle + line : call_.zeros + channel_;
    steps_[0] = has_above ? call_.x_stride : 0;
    steps_[1] = call_.x_stride;
    steps_[2] = has_below ? call_.x_stride : 0;
    y_ = call_.y + row * columns_ * y_step_ + channel_;
    if (call_.residual != nullptr) residual_ = call_.residual + row * columns_ * residual_step_ + channel_;
    int64_t column = 0;
    for (; column + kMost <= columns_; column += kMost) Places<kMost>(column);
    if constexpr (kMost > 2) {
      if (column + 2 <= columns_) {
        Places<2>(column);
        column += 2;
      }
    }
    for (; column < columns_; ++column) Places<1>(column);
  }

 private:
  using Reg = typename V::Reg;
  // Number of tokens of a row that are summed together, limited by the number of registers.
  static constexpr int kMost = V::kRegisters == 32 ? 4 : 2;

  template <int kPlaces>
  [[gnu::always_inline]] void Places(int64_t column) {
    const bool has_left = column > 0, has_right = column + kPlaces < columns_;
    Reg sums[kPlaces];
#pragma GCC unroll 4
    for (int i = 0; i < kPlaces; ++i) sums[i] = bias_;
#pragma GCC unroll 3
    for (int ky = 0; ky < 3; ++ky) {
      const float* const at = lines_[ky] + column * steps_[ky];
      Reg values[kPlaces + 2];
#pragma GCC unroll 6
      for (int i = 0; i < kPlaces + 2; ++i) {
        const bool inside = i == 0 ? has_left : i == kPlaces + 1 ? has_right : true;
        values[i] = inside ? load_(at + (i - 1) * steps_[ky]) : V::Broadcast(0);
      }
#pragma GCC unroll 3
      for (int kx = 0; kx < 3; ++kx) {
#pragma GCC unroll 4
        for (int i = 0; i < kPlaces; ++i) sums[i] = V::Fma(values[i + kx], weights_[3 * ky + kx], sums[i]);
      }
    }
    if (has_gelu_) {
#pragma GCC unroll 4
      for (int i = 0; i < kPlaces; ++i) sums[i] = V::Fma(Gelu::template Of<V>(sums[i]), scale_, shift_);
    }
    if (residual_ != nullptr) {
      const float* const residual = residual_ + column * residual_step_;
#pragma GCC unroll 4
      for (int i = 0; i < kPlaces; ++i) sums[i] = V::Add(load_(residual + i * residual_step_), sums[i]);
    }
    float* const y = y_ + column * y_step_;
#pragma GCC unroll 4
    for (int i = 0; i < kPlaces; ++i) store_(y + i * y_step_, sums[i]);
  }

  const DepthwiseCall& call_;
  const int64_t channel_;
  const Load load_;
  const Store store_;
  const Reg bias_;
  const int64_t columns_;
  const bool has_gelu_;
  const Reg scale_, shift_;  // applied to the result of the GELU
  const int64_t y_step_, residual_step_;
  Reg weights_[9];
  const float* lines_[3];
  int64_t steps_[3];
  float* y_ = nullptr;
  const float* residual_ = nullptr;
};

template <class V, class Gelu>
void RunDepthwise(const DepthwiseCall& call) {
  const auto run = [&call](int64_t row, int64_t channel, auto load, auto store) {
    DepthwiseChannels<V, Gelu, decltype(load), decltype(store)>(call, channel, load, store).Run(row);
  };
  const int64_t end = call.wanted_rows < 0 ? call.rows : call.first_row + call.wanted_rows;
  for (int64_t row = call.first_row; row < end; ++row) {
    int64_t channel = 0;
    for (; channel + V::kLanes <= call.channels; channel += V::kLanes) {
      run(
          row, channel, [](const float* from) { return V::Load(from); },
          [](float* to, typename V::Reg v) { V::Store(to, v); });
    }
    if (const int64_t rest = call.channels - channel; rest > 0) {
      run(
          row, channel, [rest](const float* from) { return V::LoadPart(from, rest); },
          [rest](float* to, typename V::Reg v) { V::StorePart(to, v, rest); });
    }
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_DEPTHWISE_KERNEL_H_
