// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_SCORE_SCORE_H_
#define VITRINE_CLIENT_SCORE_SCORE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/commands/image_run.h"
#include "client/lib/client.h"
#include "client/score/local_scorer.h"
#include "client/score/score_index.h"
#include "common/charts/progress_display.h"
#include "common/shard.h"

namespace vitrine {

// Maximum of ScoreCommand::chunk.
inline constexpr int64_t kLargestChunk = 16384;

// Arguments of `vitrine score`.
struct ScoreCommand {
  ClientOptions client = {.retry = {.max_attempts = 5}};  // few attempts, because ImageRounds waits for a lost server
  ModelChoice model;
  LocalChoice local;   // with a repository: the model computes in this process, and no server is used
  std::string source;  // see OpenUnlabelled (common/data/unlabelled.h)
  std::string out;     // folder
  Shard shard = {};
  // Images per chunk, 1 to kLargestChunk; fewer if their rows would take more than 64 MiB of memory. A run that
  // continues a killed run repeats the unfinished chunk and up to 1/64 of the finished chunks.
  int64_t chunk = 4096;
  int top_k = 5;                                              // at least 1
  v1::FeatureKind embeddings = v1::FEATURE_KIND_UNSPECIFIED;  // kind of vectors, not patches; unspecified: none
  std::optional<v1::ResolutionWish> resolution;
  v1::Priority priority = v1::LOW;
  // Maximum wait for a lost server, and for an image that is rejected for overload or times out.
  absl::Duration patience = absl::Minutes(2);
  bool restart = false;  // discards the scores in the folder
};

struct ScoreResult {
  ScoreIndex index = {};
  // OK, or the reason why rows are missing: lost server, `stop`, full disk. The same command continues the run.
  absl::Status stopped = {};
};

// Writes a row for each image of the shard that has none in `command.out`, chunk by chunk. Writes the index whenever
// IndexIsDue returns true, and at the end. The first run in a folder chooses the version of the model, and later runs
// continue with it; an answer from other weights ends the run. Once `*stop` is true, no more images are begun, and the
// run ends when the answers in flight have arrived and been written. A complete folder needs no server. Memory grows
// with the names of the images and the number of chunks, not with the rows.
//
// With command.local.repository, the model computes in this process, without a server.
//
// Returns an error if the run could not start: no server; a model that is missing or not ready; an unusable source; a
// folder that another run has locked, or that has the scores of other settings; features that the model does not have.
absl::StatusOr<ScoreResult> RunScore(const ScoreCommand& command, ProgressDisplay& display,
                                     const std::atomic<bool>* stop = nullptr);

struct MergeScoresOptions {
  std::vector<std::string> folders = {};  // --out folders of all shards
  std::string out = {};                   // another folder, without scores
};

// Joins the chunks of all shards in `out`, as hard links or copies, and writes their index last.
//
// FAILED_PRECONDITION: parts of different runs (the message names the difference), images in two parts, in no part or
// without a row. ALREADY_EXISTS: `out` has scores.
absl::StatusOr<ScoreIndex> MergeScores(const MergeScoresOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_SCORE_SCORE_H_
