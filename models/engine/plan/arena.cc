// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "models/engine/plan/plan.h"

namespace vitrine::engine {
namespace {

// Returns for each buffer the index of the last step that reads or writes it.
std::vector<size_t> LastUses(const LoweredPlan& plan) {
  std::vector<size_t> last(plan.buffers.size(), 0);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const int written = plan.steps[i].writes.buffer;
    if (written >= 0) last[static_cast<size_t>(written)] = i;
    for (const Operand& read : plan.steps[i].reads) last[static_cast<size_t>(read.buffer)] = i;
  }
  last[static_cast<size_t>(plan.logits.buffer)] = plan.steps.size();
  return last;
}

// Returns the index of the free slot that must grow least to hold `buffer`. The slot has the RowsOf of `buffer`. Adds a
// slot if there is none.
int SlotFor(const Buffer& buffer, const std::vector<bool>& taken, std::vector<Slot>& slots) {
  int best = -1;
  const auto growth = [&](int slot) { return std::max<int64_t>(0, buffer.width - slots[size_t(slot)].width); };
  const auto waste = [&](int slot) { return std::max<int64_t>(0, slots[size_t(slot)].width - buffer.width); };
  for (int i = 0; i < static_cast<int>(slots.size()); ++i) {
    if (taken[size_t(i)] || slots[size_t(i)].rows != buffer.rows) continue;
    if (best < 0 || std::pair(growth(i), waste(i)) < std::pair(growth(best), waste(best))) best = i;
  }
  if (best >= 0) return best;
  slots.push_back({buffer.rows, buffer.width});
  return static_cast<int>(slots.size()) - 1;
}

}  // namespace

void PlanArena(LoweredPlan& plan) {
  const std::vector<size_t> last = LastUses(plan);
  std::vector<bool> taken;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    const int buffer = step.writes.buffer;
    if (buffer >= 0 && plan.buffers[static_cast<size_t>(buffer)].slot < 0) {
      Buffer& written = plan.buffers[static_cast<size_t>(buffer)];
      written.slot = SlotFor(written, taken, plan.slots);
      taken.resize(plan.slots.size(), false);
      taken[static_cast<size_t>(written.slot)] = true;
      Slot& slot = plan.slots[static_cast<size_t>(written.slot)];
      slot.width = std::max(slot.width, written.width);
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].slot >= 0 && last[b] == i) taken[static_cast<size_t>(plan.buffers[b].slot)] = false;
    }
  }
}

}  // namespace vitrine::engine
