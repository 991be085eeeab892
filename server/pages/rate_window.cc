// SPDX-License-Identifier: Apache-2.0
#include "server/pages/rate_window.h"

#include <cstddef>
#include <utility>

namespace vitrine {

void RateWindow::Sample(absl::Time now, Totals totals) {
  MutexLock lock(mutex_);
  samples_.push_back({now, std::move(totals)});
  // One sample at the edge of the span, or before it, is the beginning.
  while (samples_.size() > 2 && now - samples_[1].time >= span_) samples_.pop_front();
}

double RateWindow::PerSecond(const std::string& counter) const {
  MutexLock lock(mutex_);
  if (samples_.size() < 2) return 0;
  const Sampled& first = samples_.front();
  const Sampled& last = samples_.back();
  const auto end = last.totals.find(counter);
  const double seconds = absl::ToDoubleSeconds(last.time - first.time);
  if (end == last.totals.end() || seconds <= 0) return 0;
  const auto value = [&](const Sampled& sample) {
    const auto found = sample.totals.find(counter);
    return found == sample.totals.end() ? 0 : found->second;
  };
  double rise = 0;
  for (size_t i = 1; i < samples_.size(); ++i) {
    const double before = value(samples_[i - 1]), now = value(samples_[i]);
    // A version that was loaded anew counts from 0 again.
    rise += now < before ? now : now - before;
  }
  return rise / seconds;
}

}  // namespace vitrine
