// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PACKED_CONVOLUTION_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PACKED_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/plan/fold.h"

namespace vitrine::cuda {

// Number of map channels that a lane reads at once; also the number of outputs of a product's tile.
inline constexpr int kNeighbours = 8;

// Weights of a convolution and the inputs that they multiply (`taps`), in the order of fast/convolve.cuh. The number of
// outputs is a multiple of kNeighbours.
struct PackedConvolution {
  // If `of_pixels` is true, the convolution reads planes of pixels and may have any number of channels. Otherwise it
  // reads a map, whose number of channels must be a multiple of kNeighbours.
  PackedConvolution(const engine::LinearWeights& from, int kernel, int channels, bool of_pixels);

  int steps = 0;
  std::vector<uint32_t> taps;
  std::vector<uint16_t> weights;
};

// Returns the name of the kernel for these arguments.
std::string KernelOf(const FastConvolveArguments& arguments);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_PACKED_CONVOLUTION_H_
