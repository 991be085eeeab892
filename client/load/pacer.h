// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_PACER_H_
#define VITRINE_CLIENT_LOAD_PACER_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "client/load/arrivals.h"

namespace vitrine {

// The time of a load, so that tests have one of their own. Nanoseconds from the start of the load. Thread-safe.
class LoadClock {
 public:
  virtual ~LoadClock() = default;
  virtual int64_t Now() const = 0;
  // Returns at `time` or a little later; at once where it has passed.
  virtual void SleepUntil(int64_t time) const = 0;
};

// CLOCK_MONOTONIC, from its construction on. A thread that sleeps by it asks the kernel for its finest timers.
class SteadyLoadClock final : public LoadClock {
 public:
  SteadyLoadClock();
  int64_t Now() const override;
  void SleepUntil(int64_t time) const override;
  // CLOCK_MONOTONIC in nanoseconds at a time of the load.
  int64_t Monotonic(int64_t time) const { return start_ + time; }

 private:
  const int64_t start_;
};

// Calls `start` with every arrival that is due before `end`, not before it is due, in their order and without regard to
// what becomes of them; `start` must not block. `now` is the time at which it is called: how late it is shows there and
// is never made up for by leaving requests out. Returns early once `stopped`, which is asked at least every 50 ms.
void Pace(Arrivals& arrivals, int64_t end, const LoadClock& clock, absl::FunctionRef<bool()> stopped,
          absl::FunctionRef<void(const Arrival& arrival, int64_t now)> start);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_PACER_H_
