// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_TIME_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_TIME_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/serve/scheduling/fair_share.h"

namespace vitrine {

// A new request and the load at its arrival; the input for predicting its answer time.
struct NewRequest {
  absl::Duration cost;        // executor time of the request
  absl::Duration limit;       // maximum predicted time to the answer
  bool has_deadline = false;  // true if the limit comes from a deadline
  absl::Duration batch;       // longest batch that may begin before the request
  absl::Duration patience;    // time for which more urgent requests may overtake the request
  absl::Duration mine;        // waiting work of the same caller that is computed before the request
  double urgent = 0;          // rate of the caller's recent, more urgent requests, in executor seconds per second
  int executors = 1;
  std::vector<absl::Duration> left = {};  // for each running batch, time until its executor is free, in rising order
  absl::Duration running;                 // executor time of the running batches, including the part that has passed
};

// Returns the predicted time to the answer. Assumes the load of `others`, and that more urgent requests of the caller
// keep arriving at the rate `urgent`. Pure function; O(n log n) in the number of others.
absl::Duration PredictAnswerTime(const NewRequest& request, const std::vector<OtherCaller>& others, double urgent);

// Returns RESOURCE_EXHAUSTED (see shed.h) if the predicted answer time exceeds the request's limit. The error's retry
// delay is the time until the request would be admitted if no other request arrived. `all_others` combines the other
// callers into one entry. `others` returns separate entries; it is called only if the prediction with `all_others`
// exceeds the limit. Pure function.
absl::Status CheckAnswerTime(const NewRequest& request, const OtherCaller& all_others,
                             absl::FunctionRef<std::vector<OtherCaller>()> others);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_ANSWER_TIME_H_
