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
  stopping_.NotifyAll();
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
  for (;;) {
    tick_();
    const auto next = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(period_);
    MutexLock lock(mutex_);
    while (!stop_ && std::chrono::steady_clock::now() < next) {
      stopping_.WaitFor(mutex_, absl::FromChrono(next - std::chrono::steady_clock::now()));
    }
    if (stop_) return;
  }
}

}  // namespace vitrine
