// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/paired_answers.h"

#include <algorithm>

namespace vitrine {

void PairedAnswers::CompareWith(const std::weak_ptr<const LoadedModel>& other) {
  MutexLock lock(mutex_);
  other_ = other;
}

std::shared_ptr<const LoadedModel> PairedAnswers::Due(absl::Time now) {
  MutexLock lock(mutex_);
  if (now < next_) return nullptr;
  std::shared_ptr<const LoadedModel> other = other_.lock();
  if (other != nullptr) next_ = now + kLeastPause;  // so that other executors get null meanwhile
  return other;
}

void PairedAnswers::Add(bool is_sure, bool is_same, absl::Duration spent, absl::Time now) {
  MutexLock lock(mutex_);
  next_ = now + std::max(kLeastPause, kPausePerTime * spent);
  if (!is_sure) return;
  counts_.images += 1;
  counts_.different += !is_same;
}

PairCounts PairedAnswers::Read() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace vitrine
