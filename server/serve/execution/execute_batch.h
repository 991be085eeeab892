// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_H_
#define VITRINE_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_H_

#include <functional>

#include "absl/status/statusor.h"
#include "engine/workspace.h"
#include "server/process/clock.h"
#include "server/serve/execution/helpers.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Makes the answer of one image, with the timings of the output. Called on executor threads, concurrently. The executor
// adds timings.encode, which is what this took; `total` is known when the call is answered.
using Responder =
    std::function<absl::StatusOr<v1::ClassifyResponse>(const InferenceRequest& request, InferenceOutput output)>;

// With what and for whom a batch runs. What it refers to outlives the call.
struct BatchContext {
  engine::Workspace& workspace;  // of the calling thread
  const Responder& responder;
  const Clock& clock;
  bool log_batches = false;
  // Whose idle executors may compute with this one, and how many of them; null: none.
  Scheduler* scheduler = nullptr;
  HelpRecord* help = nullptr;  // where there is a scheduler
  int most_helpers = 0;
};

// Decodes the pictures of one batch, runs the model once and answers every request, on the calling thread. A damaged
// picture fails its own request; an exception of the model fails the batch with INTERNAL and a fixed text, the details
// go to the log; want of memory fails what asked for it with RESOURCE_EXHAUSTED. Never throws.
void ExecuteBatch(Batch batch, const BatchContext& context);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_H_
