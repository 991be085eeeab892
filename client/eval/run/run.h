// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_RUN_H_
#define VITRINE_CLIENT_EVAL_RUN_RUN_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/commands/gate.h"
#include "client/commands/image_run.h"
#include "client/eval/evaluation.h"
#include "client/lib/client.h"
#include "common/charts/progress_display.h"
#include "common/shard.h"

namespace vitrine {

// Arguments of `vitrine eval`.
struct EvalCommand {
  ClientOptions client = {.retry = {.max_attempts = 5}};  // few attempts, because ImageRounds waits for a lost server
  ModelChoice model;
  std::string data;  // FORMAT:PATH
  std::string split = "test";
  std::string out;  // folder
  Shard shard = {};
  int64_t limit = 0;      // 0: every image
  std::string label_map;  // file; may be empty
  std::optional<v1::ResolutionWish> resolution;
  int top_k = 5;  // number of predictions kept, at least 5
  v1::Priority priority = v1::LOW;
  // Maximum wait for a lost server, and for an image that is rejected for overload or times out.
  absl::Duration patience = absl::Minutes(2);
  bool restart = false;       // delete an evaluation in the folder first
  bool keep_logits = false;   // keep all logits of every answer, for Calibrate
  bool retry_failed = false;  // retry images that were refused or unreadable
  // Bounds on measures. If the model cannot have one of the measures, the run does not start. The caller compares the
  // result with the bounds.
  std::vector<Gate> gates = {};
};

struct EvalResult {
  Evaluation evaluation = {};
  // OK, or the reason why images are missing: lost server, `stop`, full disk. The same command continues the run.
  absl::Status stopped = {};
};

// Evaluates each image that has no result in `command.out`. Writes the journal and the files of WriteEvaluation.
// Chooses the model's version once; an answer from other weights ends the run. Once `*stop` is true, no more requests
// are sent, and the run ends when the answers in flight have arrived.
//
// Returns an error if the run could not start. Causes are: no server; a model that is missing or not ready; an unusable
// data set; no matching label; a folder that another run has locked or that has another evaluation; a gate or
// calibration that this model does not support.
absl::StatusOr<EvalResult> RunEvaluation(const EvalCommand& command, ProgressDisplay& progress,
                                         const std::atomic<bool>* stop = nullptr);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_RUN_H_
