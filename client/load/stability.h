// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_STABILITY_H_
#define VITRINE_CLIENT_LOAD_STABILITY_H_

#include <string>

#include "client/load/load_record.h"

namespace vitrine {

struct Stability {
  enum class Verdict { kStable, kNotStable, kUnknown } verdict = Verdict::kUnknown;
  std::string reason = {};  // kNotStable: the difference; kUnknown: why no verdict is possible
  bool growing = false;     // p50 rises from each window to the next, and by half in total, because the queue grows
};

// Checks that the measured interval is uniform. The interval is divided into windows of whole seconds: five windows, or
// three if it is shorter than five seconds. Each window must agree with the median over all windows
//   in its rate of answers, within `tolerance` plus three standard deviations of the count,
//   in its p50, within `tolerance` plus 0.2 ms,
//   in its p99, within three times the limit of p50, because few requests determine p99.
// The p99 is checked only if each window has 200 answers. Overload, warm-up or throttling of a server makes a window
// differ from the others.
Stability JudgeStability(const LoadRecord& record, double tolerance);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_STABILITY_H_
