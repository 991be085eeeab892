// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/frame_memory.h"

#include <algorithm>
#include <vector>

namespace vitrine::engine {
namespace {

constexpr int64_t kLine = 16;  // floats per cache line
// Maximum scratch of all members of a thread team together, in floats (32 MiB). There is a limit because a FrameMemory
// never shrinks. The scratch of a single member may exceed the limit.
constexpr int64_t kMostScratch = int64_t{8} << 20;

int64_t RoundUp(int64_t floats) {
  return (floats + kLine - 1) / kLine * kLine;
}

// Returns the number of floats of a slot. A slot must hold every buffer up to the width of the slot, and a narrower
// buffer can have a longer stride: FloatStride(256) is 272, but FloatStride(257) is 257. The width is therefore rounded
// up to a whole cache line first.
int64_t FloatsOf(const Frame& frame, const Slot& slot) {
  return RoundUp(frame.rows(slot.rows) * FloatStride(RoundUp(slot.width)));
}

void Grow(AlignedFloats& memory, int64_t count) {
  if (memory.count() < count) memory = AlignedFloats(count);
}

}  // namespace

std::span<Frame> FrameMemory::Prepare(const Plan& plan, const Kernels& kernels, std::span<const ImagePlanes> images,
                                      int first_image, int members) {
  frames_.resize(static_cast<size_t>(members));
  Frame& frame = frames_.front();
  frame.kernels_ = &kernels;
  frame.attention = nullptr;
  frame.tokens = nullptr;
  frame.Take(images, plan.cell, plan.prefix, first_image);
  int64_t floats = 0;
  for (const Slot& slot : plan.slots) floats += FloatsOf(frame, slot);
  Grow(arena_, floats);
  int64_t scratch = 0;
  for (const auto& step : plan.steps) scratch = std::max(scratch, step->Scratch(frame));
  scratch = RoundUp(scratch);
  const int sharing = GrowScratch(scratch, members);
  frame.members_ = sharing;
  frame.scratch_ = scratch_.data();
  frame.buffers_.resize(plan.buffers.size());
  int64_t first = 0;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& buffer = plan.buffers[i];
      if (buffer.slot != static_cast<int>(slot)) continue;
      frame.buffers_[i] = {buffer.rows, FloatStride(buffer.width), arena_.data() + first};
    }
    first += FloatsOf(frame, plan.slots[slot]);
  }
  for (int member = 1; member < members; ++member) {
    Frame& other = frames_[static_cast<size_t>(member)] = frame;
    other.member_ = member;
    other.scratch_ = member < sharing ? scratch_.data() + member * scratch : nullptr;
  }
  return frames_;
}

int FrameMemory::GrowScratch(int64_t floats, int members) {
  members = static_cast<int>(std::clamp<int64_t>(kMostScratch / std::max<int64_t>(1, floats), 1, members));
  Grow(scratch_, floats * members);
  return members;
}

}  // namespace vitrine::engine
