// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_H_
#define VITRINE_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_H_

#include <functional>

#include "absl/status/statusor.h"
#include "models/engine/workspace.h"
#include "server/process/clock.h"
#include "server/serve/execution/helpers.h"
#include "server/serve/scheduling/inference_request.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine {

// Makes the answer for one image, with the timings in `output`. Called concurrently on executor threads. The executor
// then adds timings.encode, the duration of this call. timings.total is set when the request is answered.
using Responder =
    std::function<absl::StatusOr<v1::ClassifyResponse>(const InferenceRequest& request, InferenceOutput output)>;

// Resources and options of ExecuteBatch. The references and pointers must outlive the call.
struct BatchContext {
  engine::Workspace& workspace;  // workspace of the calling thread
  const Responder& responder;
  const Clock& clock;
  bool log_batches = false;
  // Scheduler whose idle executors may help to compute; null: no helpers.
  Scheduler* scheduler = nullptr;
  HelpRecord* help = nullptr;  // required if `scheduler` is set
  int most_helpers = 0;        // maximum number of helping executors
  // False: the thread gets only a part of its core, so the cost model does not learn from its compute time.
  bool has_core = true;
  // Maximum size of the attention matrices that one run of the model stores, if the run has several images. The default
  // is the size for two images of ViT-B/16 at 224 pixels.
  int64_t max_matrix_bytes = int64_t{96} << 20;
};

// Decodes the images of one batch, runs the model and answers every request, on the calling thread. The model runs
// several times if only some requests have features, or if the attention matrices exceed max_matrix_bytes. A damaged
// image fails only its own request. If the computation fails, every request of the batch gets an error.
// RESOURCE_EXHAUSTED: device memory is full. UNAVAILABLE: the device is lost. INTERNAL: the model threw an exception,
// whose text is only logged. Never throws.
void ExecuteBatch(Batch batch, const BatchContext& context);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_EXECUTE_BATCH_H_
