// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_H_
#define VITRINE_CLIENT_EVAL_RUN_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "client/eval/evaluation.h"
#include "client/eval/shard.h"
#include "client/gate.h"
#include "client/picture_run.h"
#include "report/progress_display.h"

namespace vitrine {

// What `vitrine eval` was asked to do.
struct EvalCommand {
  ClientOptions client = {.retry = {.max_attempts = 5}};  // the run has its own patience with a server that left
  ModelChoice model;
  std::string data;  // FORMAT:PATH
  std::string split = "test";
  std::string out;  // folder
  Shard shard = {};
  int64_t limit = 0;      // 0: every picture
  std::string label_map;  // file; may be empty
  std::optional<v1::ResolutionWish> resolution;
  int top_k = 5;  // at least 5
  v1::Priority priority = v1::LOW;
  // How long to wait for a server that went away, and for the answer to one picture, before giving up.
  absl::Duration patience = absl::Minutes(2);
  bool restart = false;          // throws away what the folder holds
  bool keep_logits = false;      // of every class of every answer, for Calibrate
  bool retry_failed = false;     // asks pictures again that were refused or unreadable
  std::vector<Gate> gates = {};  // which RunEvaluation refuses where the model has no such measure, and no more
};

struct EvalResult {
  Evaluation evaluation = {};
  // OK, or why pictures are missing: the server did not come back, `stop`, a full disk. The same command continues.
  absl::Status stopped = {};
};

// Asks the server about every picture that `command.out` does not know yet, each counted once, and writes the journal
// and the files of WriteEvaluation. The model's version is chosen once and held; an answer of other weights ends the
// run. Becomes `*stop` true, nothing more is sent, and the run ends when the answers under way are there.
//
// An error: nothing was begun. No server, no such model or not ready, a data set that cannot be opened, no label that
// fits, a folder that another run holds or that is another evaluation's, a gate or a
// calibration about what this model cannot have.
absl::StatusOr<EvalResult> RunEvaluation(const EvalCommand& command, ProgressDisplay& progress,
                                         const std::atomic<bool>* stop = nullptr);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_H_
