// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_PACER_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_PACER_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "client/load/workload/arrivals.h"

namespace vitrine {

// Clock of a load, which tests can replace. Times are nanoseconds from the start of the load. Thread-safe.
class LoadClock {
 public:
  virtual ~LoadClock() = default;
  virtual int64_t Now() const = 0;
  // Sleeps until `time` or a little longer. Returns at once if it has passed.
  virtual void SleepUntil(int64_t time) const = 0;
};

// Clock that counts CLOCK_MONOTONIC from its construction. A thread that calls SleepUntil gets the kernel's smallest
// timer slack.
class SteadyLoadClock final : public LoadClock {
 public:
  SteadyLoadClock();
  int64_t Now() const override;
  void SleepUntil(int64_t time) const override;
  // Converts a time of the load to CLOCK_MONOTONIC nanoseconds.
  int64_t Monotonic(int64_t time) const { return start_ + time; }

 private:
  const int64_t start_;
};

// Calls `start` for every arrival due before `end`, in order, at its due time or later, and without waiting for
// answers. `start` must not block. Its `now` is the time of the call. Late requests are sent at once, and not skipped.
// Calls `stopped` at least every 50 ms, and returns early once it is true.
void Pace(Arrivals& arrivals, int64_t end, const LoadClock& clock, absl::FunctionRef<bool()> stopped,
          absl::FunctionRef<void(const Arrival& arrival, int64_t now)> start);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_PACER_H_
