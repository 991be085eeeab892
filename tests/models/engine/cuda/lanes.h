// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_LANES_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_LANES_H_

#include <span>
#include <vector>

#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/engine/image_planes.h"
#include "models/engine/precision.h"
#include "models/program/program.h"

namespace vitrine::testing {

// The CPU engine's kernels with arrays of 16 floats instead of AVX-512 vectors. On any CPU, they sum in the order of
// the AVX-512 kernels. Only 1 / x differs: these kernels divide, and AVX-512 approximates the result and refines it
// with a Newton step.
extern const engine::Kernels kLaneKernels;
extern const engine::NarrowKernels kLaneInt8Kernels;

// Returns the logits of the images, computed by the CPU engine's steps with these kernels.
std::vector<float> LogitsOnCpu(const program::Program& program, std::span<const float* const> weights,
                               const PrecisionChoice& choice, std::span<const engine::ImagePlanes> images,
                               const engine::Kernels& kernels = kLaneKernels);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_LANES_H_
