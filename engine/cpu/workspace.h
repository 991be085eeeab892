// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_WORKSPACE_H_
#define VITRINE_ENGINE_CPU_WORKSPACE_H_

#include <span>

#include "engine/cpu/aligned_floats.h"
#include "engine/cpu/frame.h"
#include "engine/cpu/plan.h"

namespace vitrine::engine {

// The memory of one lane: a frame over an arena that grows to the largest group of images it has seen. One thread's,
// for any models.
class Workspace {
 public:
  // The frame of these pictures, with the buffers of `plan`. Valid until the next call.
  Frame& Prepare(const Plan& plan, const Kernels& kernels, std::span<const Picture> pictures, int first_image);

 private:
  Frame frame_;
  AlignedFloats arena_;
  AlignedFloats scratch_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_WORKSPACE_H_
