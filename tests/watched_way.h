// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_WATCHED_WAY_H_
#define VITRINE_TESTS_WATCHED_WAY_H_

#include <algorithm>
#include <ctime>
#include <functional>

#include "base/give_way.h"

namespace vitrine {

// How often this thread gave way while it lives, and how much of its work it did at a stretch. Time is what the thread
// computed: others who run on its core change nothing.
class WatchedWay : public WayGiver {
 public:
  void GiveWay() override {
    ++calls_;
    const double now = Now();
    longest_ = std::max(longest_, now - since_);
    since_ = now;
  }

  int calls() const { return calls_; }
  // The longest stretch, up to now, as a share of all.
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

// How often `work` gives way, and the largest share of it that it does at a stretch: the least that a few runs show.
// A stretch without is in every run; what disturbs one, like memory that the system hands out, is not.
struct GaveWay {
  int calls = 0;
  double longest_share = 1;
};

inline GaveWay HowItGivesWay(const std::function<void()>& work) {
  work();  // so that what is done once is done
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
