// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_MERGE_H_
#define VITRINE_CLIENT_EVAL_MERGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/eval/evaluation.h"
#include "client/gate.h"

namespace vitrine {

struct MergeOptions {
  std::vector<std::string> folders = {};  // --out folders of shards, at least one
  std::string out = {};                   // another folder, without an evaluation
  bool allow_missing = false;             // shards, and pictures of shards, may be missing
  std::vector<Gate> gates = {};           // which are refused where the model has no such measure, and no more
};

// The evaluation that one run over the whole data set would have been; `out` gets its journal, which a run may continue
// if pictures are missing.
//
// FAILED_PRECONDITION: shards of different runs (names the difference), the same shard twice, and, unless they may be
// missing, shards that are not there or not finished; a picture that is in two, or in the wrong one; a gate about what
// this model cannot have. The journal of `out` appears as a whole. ALREADY_EXISTS: `out` holds an evaluation.
absl::StatusOr<Evaluation> MergeEvaluations(const MergeOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_MERGE_H_
