// SPDX-License-Identifier: Apache-2.0
#include "server/trace/span_queue.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace vitrine {

bool SpanQueue::Push(std::unique_ptr<RequestTrace> trace) {
  size_t waiting = 0;
  {
    MutexLock lock(mutex_);
    if (closed_ || waiting_.size() >= kCapacity) return false;
    waiting_.push_back(std::move(trace));  // does not allocate: capacity is reserved
    waiting = waiting_.size();
  }
  if (waiting == 1 || waiting == kBatch) changed_.NotifyOne();
  return true;
}

SpanQueue::Traces SpanQueue::Take() {
  Traces taken;
  taken.reserve(kBatch);
  MutexLock lock(mutex_);
  while (!closed_ && waiting_.empty()) changed_.Wait(mutex_);
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kPatience);
  while (!closed_ && waiting_.size() < kBatch) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= std::chrono::steady_clock::duration::zero()) break;
    changed_.WaitFor(mutex_, absl::FromChrono(left));
  }
  const auto last = waiting_.begin() + static_cast<ptrdiff_t>(std::min(waiting_.size(), kBatch));
  std::move(waiting_.begin(), last, std::back_inserter(taken));
  waiting_.erase(waiting_.begin(), last);
  return taken;
}

void SpanQueue::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.NotifyAll();
}

}  // namespace vitrine
