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

// The CPU's kernels over 16 plain floats instead of AVX-512's vectors: on any CPU they sum in AVX-512's order. One
// operation differs: 1 / x is a division; AVX-512 approximates it and refines it by a Newton step.
extern const engine::Kernels kLaneKernels;
extern const engine::NarrowKernels kLaneInt8Kernels;

// Computes the logits of images by the CPU's steps with these kernels; `kernels` may be AVX-512's own.
std::vector<float> LogitsOnCpu(const program::Program& program, std::span<const float* const> weights,
                               const PrecisionChoice& choice, std::span<const engine::ImagePlanes> images,
                               const engine::Kernels& kernels = kLaneKernels);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_LANES_H_
