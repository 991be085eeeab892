// SPDX-License-Identifier: Apache-2.0
// Shapes that fast kernels and the host agree on.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_

namespace vitrine::cuda {

// vitrine_fast_mean_of_cells: cells of 32 columns in shared memory.
inline constexpr int kMeanCells = 128;
inline constexpr int kMeanSharedBytes = kMeanCells * 32 * static_cast<int>(sizeof(float));

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_
