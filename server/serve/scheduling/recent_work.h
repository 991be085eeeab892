// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_RECENT_WORK_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_RECENT_WORK_H_

#include <cmath>

#include "absl/time/time.h"

namespace vitrine {

// Executor time that was admitted recently; it decays by a factor e per second. Not thread-safe.
class RecentWork {
 public:
  // Minimum rate, in executor seconds per second; a caller with a lower rate is ignored.
  static constexpr double kForgottenRate = 1e-4;
  // Time in which even an hour of executor time decays to a rate below kForgottenRate.
  static constexpr absl::Duration kForgottenAfter = absl::Seconds(20);

  // Returns the factor by which a rate decays in `passed`.
  static double Decay(absl::Duration passed) { return std::exp(-absl::ToDoubleSeconds(passed)); }

  // Returns the rate at `now`, in executor seconds per second.
  double Rate(absl::Time now) const {
    // Most callers had no work in the last kForgottenAfter. For them, this test saves computing an exponential.
    if (now - at_ > kForgottenAfter) return 0;
    return absl::ToDoubleSeconds(work_) * Decay(now - at_);
  }
  void Add(absl::Duration cost, absl::Time now) {
    work_ = absl::Seconds(Rate(now)) + cost;
    at_ = now;
  }

 private:
  absl::Duration work_;
  absl::Time at_;  // time for which `work_` is valid
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_RECENT_WORK_H_
