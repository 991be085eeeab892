// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_MERGE_H_
#define VITRINE_CLIENT_EVAL_RUN_MERGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/commands/gate.h"
#include "client/eval/evaluation.h"

namespace vitrine {

struct MergeOptions {
  std::vector<std::string> folders = {};  // --out folders of shards, at least one
  std::string out = {};                   // another folder, without an evaluation
  bool allow_missing = false;             // true: shards, or images of shards, may be missing
  std::vector<Gate> gates = {};           // not evaluated; a gate on a measure that the model cannot have is an error
};

// Returns the evaluation that one run over the whole data set would have made. Writes its journal to `out` atomically.
// If images are missing, a later run on `out` can evaluate them.
//
// FAILED_PRECONDITION: shards of different runs (the message names the difference); a repeated shard; missing or
// unfinished shards without allow_missing; an image in two shards or in a wrong shard; a gate on a measure that this
// model cannot have. ALREADY_EXISTS: `out` has an evaluation.
absl::StatusOr<Evaluation> MergeEvaluations(const MergeOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_MERGE_H_
