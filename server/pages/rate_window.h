// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_RATE_WINDOW_H_
#define VITRINE_SERVER_PAGES_RATE_WINDOW_H_

#include <deque>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace vitrine {

// How fast counters rose over the last while, from samples that somebody takes now and then. Thread-safe.
class RateWindow {
 public:
  using Totals = std::map<std::string, double>;  // counters by name; they rise, or begin at 0 anew

  // Rates are over the last `span`, or since the first sample where that is shorter.
  explicit RateWindow(absl::Duration span) : span_(span) {}

  // `now` is on a clock that never jumps and later than that of the last sample.
  void Sample(absl::Time now, Totals totals);
  // Rise per second. A counter that was not there at the beginning was 0. 0 before the second sample, and for a counter
  // that is gone.
  double PerSecond(const std::string& counter) const;

 private:
  struct Sampled {
    absl::Time time;
    Totals totals;
  };
  const absl::Duration span_;
  mutable Mutex mutex_;
  std::deque<Sampled> samples_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_RATE_WINDOW_H_
