// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/workspace.h"

#include <algorithm>
#include <vector>

namespace vitrine::engine {
namespace {

constexpr int64_t kLine = 16;  // floats of a cache line

int64_t RoundUp(int64_t floats) {
  return (floats + kLine - 1) / kLine * kLine;
}

void Grow(AlignedFloats& memory, int64_t count) {
  if (memory.count() < count) memory = AlignedFloats(count);
}

}  // namespace

Frame& Workspace::Prepare(const Plan& plan, const Kernels& kernels, std::span<const Picture> pictures,
                          int first_image) {
  frame_.kernels_ = &kernels;
  frame_.Take(pictures, plan.cell, first_image);
  int64_t floats = 0;
  for (const Slot& slot : plan.slots) floats += RoundUp(frame_.rows(slot.rows) * slot.width);
  Grow(arena_, floats);
  int64_t scratch = 0;
  for (const auto& step : plan.steps) scratch = std::max(scratch, step->Scratch(frame_));
  Grow(scratch_, scratch);
  frame_.scratch_ = scratch_.data();
  frame_.buffers_.resize(plan.buffers.size());
  int64_t first = 0;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& buffer = plan.buffers[i];
      if (buffer.slot != static_cast<int>(slot)) continue;
      frame_.buffers_[i] = {buffer.rows, buffer.width, arena_.data() + first};
    }
    first += RoundUp(frame_.rows(plan.slots[slot].rows) * plan.slots[slot].width);
  }
  return frame_;
}

}  // namespace vitrine::engine
