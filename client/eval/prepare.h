// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PREPARE_H_
#define VITRINE_CLIENT_EVAL_PREPARE_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/eval/evaluation.h"
#include "client/eval/run.h"
#include "data/dataset.h"
#include "report/progress_display.h"

namespace vitrine {

// What is there before the first picture.
struct PreparedRun {
  std::unique_ptr<Dataset> data;
  std::unique_ptr<Client> client;
  Evaluation evaluation = {};  // without sessions and predictions
};

// Opens the data set, connects, chooses the version of the model, and finds the classes of the labels. Labels without a
// class are named on `display`. A server that is not there is tried for the connect timeout, a model that is loading
// and a server that leaves again are waited for, for the patience, unless `*stop` becomes true. Errors as those of
// RunEvaluation.
absl::StatusOr<PreparedRun> PrepareRun(const EvalCommand& command, ProgressDisplay& display,
                                       const std::atomic<bool>* stop = nullptr);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PREPARE_H_
