// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/seat.h"

#include <algorithm>

namespace vitrine {
namespace {

// Maximum ratio of pause to run time: the executor keeps a quarter of the time even if the stand-in always works.
constexpr int kWaitsFor = 3;

}  // namespace

void Seat::Lend() {
  since_ = clock_.Now();
  allowed_ = absl::ZeroDuration();
  lent_.store(true);
  MutexLock lock(mutex_);
  ++lendings_;
  changed_.NotifyAll();
}

void Seat::TakeBack() {
  lent_.store(false);
}

void Seat::GiveWay() {
  if (!working_.load(std::memory_order_relaxed)) return;
  const absl::Time begin = clock_.Now();
  allowed_ = std::min(allowed_ + kWaitsFor * (begin - since_), kLongestWait);
  const absl::Time until = begin + allowed_;
  absl::Time now = begin;
  {
    MutexLock lock(mutex_);
    for (; working_.load(std::memory_order_relaxed) && now < until; now = clock_.Now()) {
      changed_.WaitFor(mutex_, until - now);
    }
  }
  allowed_ -= now - begin;
  since_ = now;
}

bool Seat::AwaitLent() {
  MutexLock lock(mutex_);
  while (!ended_ && seen_ == lendings_) changed_.Wait(mutex_);
  seen_ = lendings_;
  return !ended_;
}

void Seat::Begin() {
  working_.store(true, std::memory_order_relaxed);
}

void Seat::Finish() {
  MutexLock lock(mutex_);
  working_.store(false, std::memory_order_relaxed);
  changed_.NotifyAll();
}

void Seat::End() {
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

}  // namespace vitrine
