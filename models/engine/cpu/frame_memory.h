// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_FRAME_MEMORY_H_
#define VITRINE_MODELS_ENGINE_CPU_FRAME_MEMORY_H_

#include <span>
#include <vector>

#include "models/engine/cpu/aligned_floats.h"
#include "models/engine/cpu/frame.h"
#include "models/engine/cpu/plan.h"
#include "models/engine/workspace.h"

namespace vitrine::engine {

// Memory of frames: an arena that grows to the size of the largest group so far. Used by one thread, for any model.
class FrameMemory : public Workspace::Memory {
 public:
  // Returns one frame per member of the thread team, with the buffers of `plan`. If scratch for all members would
  // exceed the memory limit, the last members get no share of the work. The frames are valid until the next call.
  std::span<Frame> Prepare(const Plan& plan, const Kernels& kernels, std::span<const ImagePlanes> images,
                           int first_image, int members = 1);

 private:
  // Allocates `floats` of scratch for as many members as the memory limit allows. Returns the number of members that
  // share the work.
  int GrowScratch(int64_t floats, int members);

  std::vector<Frame> frames_;
  AlignedFloats arena_;
  AlignedFloats scratch_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_FRAME_MEMORY_H_
