// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_CONVOLUTION_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_CONVOLUTION_H_

#include <cstdint>
#include <type_traits>

#include "models/engine/cpu/kernels/kernels.h"
#include "models/engine/cpu/matrices/linear_matrix.h"

namespace vitrine::engine {

// A convolution that reads the feature map directly instead of copying every neighbourhood. The map has channels last
// and a border of zeros, so a neighbourhood is `kernel` pieces of `kernel * channels` numbers. The pieces are one map
// row apart. Map and matrix have the same number type, fp32 or bf16.
template <class Number>
struct Convolution {
  const LinearMatrix& matrix;  // [outputs, kernel * kernel * channels]
  Activation activation;
  int kernel;
  int stride;
  int64_t channels;
  int64_t map_columns;  // columns with the border

  static constexpr bool kWide = std::is_same_v<Number, float>;

  int64_t panel_columns(const Kernels& kernels) const {
    return kWide ? kernels.panel_columns : matrix.narrow()->kernels().panel_columns;
  }

  // Computes `outputs` columns of one row of the result, from column `first_output` on. `outputs` is at most the width
  // of a panel. `map` points to the top left of the first neighbourhood. An fp32 map gives an fp32 result.
  template <class Result>
  void RunPanel(const Kernels& kernels, const Number* map, int64_t places, int64_t first_output, int64_t outputs,
                Result* y, int64_t y_stride) const {
    if constexpr (kWide) {
      const PackedMatrix& wide = *matrix.wide();
      kernels.gemm({.a = map,
                    .a_stride = stride * channels,
                    .rows = places,
                    .inner = kernel * channels,
                    .panels = wide.panels() + first_output * matrix.inputs(),
                    .bias = wide.bias() + first_output,
                    .columns = outputs,
                    .activation = activation,
                    .residual = nullptr,
                    .residual_stride = 0,
                    .y = y + first_output,
                    .y_stride = y_stride,
                    .parts = kernel,
                    .part_stride = map_columns * channels});
    } else {
      constexpr int64_t kBytes = sizeof(Number);
      NarrowGemmCall call = matrix.narrow()->Call();
      call.a = reinterpret_cast<const std::byte*>(map);
      call.a_stride = stride * channels * kBytes;
      call.rows = places;
      call.part_stride = map_columns * channels * kBytes;
      call.panels += first_output * call.parts * call.groups * kGroupBytes;
      call.bias += first_output;
      call.columns = outputs;
      call.activation = activation;
      call.y_stride = y_stride;
      if constexpr (std::is_same_v<Result, float>) {
        call.y = y + first_output;
      } else {
        call.narrow = y + first_output;
      }
      matrix.narrow()->kernels().gemm(call);
    }
  }
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_CONVOLUTION_H_
