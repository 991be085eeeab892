// SPDX-License-Identifier: Apache-2.0
#include "server/process/ticker.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace vitrine {

// An infinite period is replaced by a year, because infinity cannot be added to a time point.
Ticker::Ticker(absl::Duration period, std::function<void()> tick)
    : period_(std::min(period, absl::Hours(24 * 365))), tick_(std::move(tick)), thread_([this] { Loop(); }) {}

Ticker::~Ticker() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

std::unique_ptr<Ticker> TryToTick(absl::Duration period, std::function<void()> tick) {
  try {
    return std::make_unique<Ticker>(period, std::move(tick));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

void Ticker::Loop() {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    tick_();
    MutexLock lock(mutex_);
    next_ = std::min(next_, Clock::now() + absl::ToChronoNanoseconds(period_));
    while (!stop_ && Clock::now() < next_) changed_.WaitFor(mutex_, absl::FromChrono(next_ - Clock::now()));
    if (stop_) return;
    next_ = Clock::time_point::max();
  }
}

void Ticker::TickIn(absl::Duration delay) {
  const auto time = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(delay, period_));
  MutexLock lock(mutex_);
  if (time >= next_) return;
  next_ = time;
  changed_.NotifyAll();
}

}  // namespace vitrine
