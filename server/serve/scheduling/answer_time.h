// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_TIME_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_TIME_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/serve/scheduling/fair_share.h"

namespace vitrine {

// A new request and the load that it meets; the input of the prediction of its answer's time.
struct NewRequest {
  absl::Duration cost;        // its executor time
  absl::Duration limit;       // for the predicted time to its answer
  bool has_deadline = false;  // the limit follows from a deadline
  absl::Duration batch;       // longest batch that may be begun before it
  absl::Duration patience;    // time for which more urgent requests may overtake it
  absl::Duration mine;        // waiting work of the same caller that goes before it
  double urgent = 0;          // executor seconds per second that its caller recently sent at more urgent priorities
  int executors = 1;
  std::vector<absl::Duration> left = {};  // for each running batch, time until its executor is free, ascending
  absl::Duration running;                 // executor time of the running batches, with the part that has passed
};

// Returns the predicted time to the answer among `others`, if more urgent requests of the caller keep coming at the
// rate `urgent`. Pure; O(n log n) in the number of others.
absl::Duration PredictAnswerTime(const NewRequest& request, const std::vector<OtherCaller>& others, double urgent);

// Returns the error with which a request is rejected whose predicted answer is past its limit; RESOURCE_EXHAUSTED (see
// shed.h). RetryInfo is the time after which the request would be admitted if no other request came. `all_others` are
// the other callers as one entry, which decides the usual case; `others` returns separate entries. Pure.
absl::Status CheckAnswerTime(const NewRequest& request, const OtherCaller& all_others,
                             absl::FunctionRef<std::vector<OtherCaller>()> others);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_TIME_H_
