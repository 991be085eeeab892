// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/pacer.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int64_t kNanosecondsInASecond = 1'000'000'000;
constexpr int64_t kLongestNap = 50'000'000;

int64_t MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsInASecond + now.tv_nsec;
}

}  // namespace

SteadyLoadClock::SteadyLoadClock() : start_(MonotonicNow()) {}

int64_t SteadyLoadClock::Now() const {
  return MonotonicNow() - start_;
}

void SteadyLoadClock::SleepUntil(int64_t time) const {
  // By default, the kernel may delay timers by 50 us to group them.
  thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  static_cast<void>(slack);
  const int64_t wake = Monotonic(time);
  const timespec until{wake / kNanosecondsInASecond, wake % kNanosecondsInASecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

void Pace(Arrivals& arrivals, int64_t end, const LoadClock& clock, absl::FunctionRef<bool()> stopped,
          absl::FunctionRef<void(const Arrival& arrival, int64_t now)> start) {
  for (auto arrival = arrivals.Next(); arrival.has_value() && arrival->due < end; arrival = arrivals.Next()) {
    int64_t now = 0;
    for (;;) {
      if (stopped()) return;
      now = clock.Now();
      if (now >= arrival->due) break;
      clock.SleepUntil(std::min(arrival->due, now + kLongestNap));
    }
    start(*arrival, now);
  }
}

}  // namespace vitrine
