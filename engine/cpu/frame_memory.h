// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_FRAME_MEMORY_H_
#define VITRINE_ENGINE_CPU_FRAME_MEMORY_H_

#include <span>
#include <vector>

#include "engine/cpu/aligned_floats.h"
#include "engine/cpu/frame.h"
#include "engine/cpu/plan.h"
#include "engine/workspace.h"

namespace vitrine::engine {

// The memory of one lane: frames over an arena that grows to the largest group of images it has seen. One thread's,
// for any models.
class FrameMemory : public Workspace::Memory {
 public:
  // The frames of these pictures, with the buffers of `plan`, one for each of so many threads. Where the scratch of all
  // would be too much, the last ones have no share of the work. Valid until the next call.
  std::span<Frame> Prepare(const Plan& plan, const Kernels& kernels, std::span<const Picture> pictures, int first_image,
                           int members = 1);

 private:
  // Scratch of so many floats for as many of the members as it is bearable for; returns how many share the work.
  int GrowScratch(int64_t floats, int members);

  std::vector<Frame> frames_;
  AlignedFloats arena_;
  AlignedFloats scratch_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_FRAME_MEMORY_H_
