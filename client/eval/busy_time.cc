// SPDX-License-Identifier: Apache-2.0
#include "client/eval/busy_time.h"

#include <algorithm>

namespace vitrine {

BusyTime::BusyTime(const std::vector<EvaluationSession>& sessions) {
  std::vector<std::pair<double, double>> spans;
  for (const EvaluationSession& session : sessions) spans.emplace_back(session.start, session.end);
  std::ranges::sort(spans);
  for (const auto& span : spans) {
    if (spans_.empty() || span.first > spans_.back().second) {
      spans_.push_back(span);
    } else {
      spans_.back().second = std::max(spans_.back().second, span.second);
    }
  }
}

double BusyTime::Length() const {
  double length = 0;
  for (const auto& [start, end] : spans_) length += end - start;
  return length;
}

double BusyTime::At(double unix_seconds) const {
  double passed = 0;
  for (const auto& [start, end] : spans_) passed += std::clamp(unix_seconds, start, end) - start;
  return passed;
}

}  // namespace vitrine
