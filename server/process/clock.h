// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_CLOCK_H_
#define VITRINE_SERVER_PROCESS_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// A monotonic clock: seconds since an arbitrary start, as absl::Time. Compare only times of one clock. Convert a
// wall-clock deadline once, on arrival: `clock.Now() + (deadline - wall_now)`.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;  // thread-safe
};

// Returns the system's steady clock, one object per process.
const Clock& SteadyClock();

// A clock whose time changes only by calls of Advance. Thread-safe. Waits of the scheduler do not follow this clock, so
// call Scheduler::Sweep() after Advance().
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::UnixEpoch() + absl::Hours(1)) : nanoseconds_(absl::ToUnixNanos(start)) {}
  absl::Time Now() const override { return absl::FromUnixNanos(nanoseconds_.load(std::memory_order_acquire)); }
  void Advance(absl::Duration by) { nanoseconds_.fetch_add(absl::ToInt64Nanoseconds(by), std::memory_order_acq_rel); }

 private:
  std::atomic<int64_t> nanoseconds_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_CLOCK_H_
