// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_COUNTER_WINDOW_H_
#define VITRINE_SERVER_MODELS_REGISTRY_COUNTER_WINDOW_H_

#include <deque>

#include "absl/time/time.h"

namespace vitrine {

// Counters that only grow, seen through a window that moves with the time. Counters has a difference. Keeps some
// kSamples values however long the window is: that is how sharp its beginning is.
template <typename Counters>
class CounterWindow {
 public:
  using Counts = Counters;

  // The counters at `now`; times must not fall. Forgets what is older than the window, but for the last value before
  // it.
  void Add(absl::Time now, const Counts& total, absl::Duration window) {
    const size_t size = samples_.size();
    if (size >= 2 && now - samples_[size - 2].at < window / kSamples) samples_.pop_back();
    samples_.push_back({now, total});
    while (samples_.size() > 2 && samples_[1].at <= now - window) samples_.pop_front();
  }
  // What was counted between the oldest value kept and the newest.
  Counts InWindow() const { return samples_.empty() ? Counts() : samples_.back().total - samples_.front().total; }

 private:
  static constexpr int kSamples = 300;
  struct Sample {
    absl::Time at;
    Counts total;
  };
  std::deque<Sample> samples_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_COUNTER_WINDOW_H_
