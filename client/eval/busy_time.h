// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_BUSY_TIME_H_
#define VITRINE_CLIENT_EVAL_BUSY_TIME_H_

#include <utility>
#include <vector>

#include "client/eval/evaluation.h"

namespace vitrine {

// Time in seconds in which at least one session was active. Pauses between sessions do not count.
class BusyTime {
 public:
  explicit BusyTime(const std::vector<EvaluationSession>& sessions);

  double Length() const;
  // Returns the active seconds before `unix_seconds`.
  double At(double unix_seconds) const;

 private:
  std::vector<std::pair<double, double>> spans_;  // ascending, disjoint
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_BUSY_TIME_H_
