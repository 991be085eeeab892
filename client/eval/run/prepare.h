// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_PREPARE_H_
#define VITRINE_CLIENT_EVAL_RUN_PREPARE_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "client/eval/evaluation.h"
#include "client/eval/run/run.h"
#include "client/lib/client.h"
#include "common/charts/progress_display.h"
#include "common/data/dataset.h"

namespace vitrine {

// State of a run before its first image.
struct PreparedRun {
  std::unique_ptr<Dataset> data;
  std::unique_ptr<Client> client;
  Evaluation evaluation = {};  // without sessions and predictions
};

// Opens the data set, connects, chooses the version of the model, and maps the labels to classes. Lists labels without
// a class on `display`. Retries the connection until the connect timeout. Waits up to command.patience for a model that
// is loading or a server that restarts. Stops waiting once `*stop` is true. Returns the errors of RunEvaluation.
absl::StatusOr<PreparedRun> PrepareRun(const EvalCommand& command, ProgressDisplay& display,
                                       const std::atomic<bool>* stop = nullptr);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_PREPARE_H_
