// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_BUSY_TIME_H_
#define VITRINE_CLIENT_EVAL_BUSY_TIME_H_

#include <utility>
#include <vector>

#include "client/eval/evaluation.h"

namespace vitrine {

// Stretches of time, in seconds, in which at least one session was at work, without the pauses between them.
class BusyTime {
 public:
  explicit BusyTime(const std::vector<EvaluationSession>& sessions);

  double Length() const;
  // Busy seconds that had passed by then.
  double At(double unix_seconds) const;

 private:
  std::vector<std::pair<double, double>> spans_;  // rising, apart
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_BUSY_TIME_H_
