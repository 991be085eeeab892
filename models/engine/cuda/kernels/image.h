// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_IMAGE_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_IMAGE_H_

// The compiled kernels, a fat binary for cuModuleLoadData. In a build without nvcc, it is a text that the driver
// rejects.
extern "C" const char vitrine_cuda_image[];

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_IMAGE_H_
