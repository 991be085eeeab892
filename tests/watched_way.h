// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_WATCHED_WAY_H_
#define VITRINE_TESTS_WATCHED_WAY_H_

#include <algorithm>
#include <ctime>
#include <functional>

#include "common/give_way.h"

namespace vitrine {

// Counts how often this thread yields during the object's lifetime, and measures the longest time between two yields.
// Time is the thread's CPU time, which excludes other threads on the same core.
class WatchedWay : public WayGiver {
 public:
  void GiveWay() override {
    ++calls_;
    const double now = Now();
    longest_ = std::max(longest_, now - since_);
    since_ = now;
  }

  int calls() const { return calls_; }
  // Returns the longest time without a yield so far, as a share of the total time.
  double LongestShare() {
    GiveWay();
    --calls_;
    return longest_ / (since_ - begin_);
  }

 private:
  static double Now() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  int calls_ = 0;
  double longest_ = 0;
  const double begin_ = Now();
  double since_ = begin_;
  const GivingWay giving_way_{*this};
};

// Number of yields in one run, and the largest share of a run without a yield. The share is the minimum over several
// runs. The minimum excludes interference in single runs, such as page faults.
struct GaveWay {
  int calls = 0;
  double longest_share = 1;
};

inline GaveWay HowItGivesWay(const std::function<void()>& work) {
  work();  // one-time initialization is not measured
  GaveWay gave;
  for (int run = 0; run < 10; ++run) {
    WatchedWay way;
    work();
    gave.calls = way.calls();
    gave.longest_share = std::min(gave.longest_share, way.LongestShare());
  }
  return gave;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_WATCHED_WAY_H_
