// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_PLACE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_PLACE_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "server/registry/settings/model_limits.h"
#include "server/serve/scheduling/caller_table.h"

namespace vitrine {

// Resources of an admitted request. The predicted work ends when the request is computed; the other resources are
// released when its answer is delivered.
struct Place {
  CallerId caller = kNoCaller;  // index of the caller in PlaceLedger; kNoCaller only before PlaceLedger::Take
  std::shared_ptr<const QueueLimits> model;
  int priority_class = 0;
  int64_t bytes = 0;
  absl::Duration cost;       // predicted executor time; zero once an executor has begun the request
  bool is_computed = false;  // true: the request was computed or will never be computed
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_PLACE_H_
