// SPDX-License-Identifier: Apache-2.0
#include "server/observability/rate_window.h"

#include <algorithm>
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
  const auto begin = first.totals.find(counter);
  const double rise = end->second - (begin == first.totals.end() ? 0 : begin->second);
  // A version that was loaded anew counts from 0 again.
  return std::max(rise, 0.0) / seconds;
}

}  // namespace vitrine
