// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/running_batches.h"

#include <algorithm>

namespace vitrine {

RunningBatches::RunningBatches(int executors, const Clock& clock) : clock_(clock) {
  slots_.reserve(static_cast<size_t>(std::max(executors, 0)));
}

HeldBatch RunningBatches::Begin(absl::Duration predicted, absl::Duration error) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& each) { return !each.is_used; });
  if (slot == slots_.end()) slot = slots_.emplace(slot);
  *slot = {.is_used = true, .begin = now, .predicted = predicted, .error = error};
  return HeldBatch(this, static_cast<size_t>(slot - slots_.begin()));
}

void RunningBatches::Release(size_t slot) {
  MutexLock lock(mutex_);
  slots_[slot].is_used = false;
}

std::vector<absl::Duration> RunningBatches::Left() const {
  const absl::Time now = clock_.Now();
  std::vector<absl::Duration> left;
  {
    MutexLock lock(mutex_);
    for (const Slot& slot : slots_) {
      if (!slot.is_used) continue;
      left.push_back(std::max(absl::AbsDuration(slot.begin + slot.predicted + slot.error - now), slot.error));
    }
  }
  std::sort(left.begin(), left.end());
  return left;
}

absl::Duration RunningBatches::Predicted() const {
  absl::Duration all;
  MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.is_used) all += slot.predicted + slot.error;
  }
  return all;
}

absl::Duration TimeUntilDone(absl::Duration work, const std::vector<absl::Duration>& left, int executors) {
  const size_t busy = std::min(left.size(), static_cast<size_t>(executors));
  int64_t working = executors - static_cast<int64_t>(busy);
  absl::Duration time;
  for (size_t i = 0; i < busy; ++i) {
    const absl::Duration done = working * (left[i] - time);
    if (working > 0 && work <= done) break;
    work -= done;
    time = left[i];
    ++working;
  }
  return time + work / working;
}

}  // namespace vitrine
