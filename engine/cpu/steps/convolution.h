// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_STEPS_CONVOLUTION_H_
#define VITRINE_ENGINE_CPU_STEPS_CONVOLUTION_H_

#include <cstdint>

#include "engine/cpu/kernels/kernels.h"
#include "engine/cpu/packed_matrix.h"

namespace vitrine::engine {

// A convolution of a map without a copy of every neighbourhood: channels last, with a border of zeros, so that the
// neighbourhood of a place is `kernel` pieces of `kernel * channels` floats, a row of the map apart.
struct Convolution {
  const PackedMatrix& matrix;  // [outputs, kernel * kernel * channels]
  Activation activation;
  int kernel;
  int stride;
  int64_t channels;
  int64_t map_columns;  // with their border

  // Columns first_output to first_output + outputs, a panel or what is left of it, of one row of places of the result.
  // `map` is the top left of the first place's neighbourhood.
  void RunPanel(const Kernels& kernels, const float* map, int64_t places, int64_t first_output, int64_t outputs,
                float* y, int64_t y_stride) const {
    kernels.gemm({.a = map,
                  .a_stride = stride * channels,
                  .rows = places,
                  .inner = kernel * channels,
                  .panels = matrix.panels() + first_output * matrix.inputs(),
                  .bias = matrix.bias() + first_output,
                  .columns = outputs,
                  .activation = activation,
                  .residual = nullptr,
                  .residual_stride = 0,
                  .y = y + first_output,
                  .y_stride = y_stride,
                  .parts = kernel,
                  .part_stride = map_columns * channels});
  }
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_STEPS_CONVOLUTION_H_
