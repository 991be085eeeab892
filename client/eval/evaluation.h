// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_EVALUATION_H_
#define VITRINE_CLIENT_EVAL_EVALUATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/eval/prediction.h"
#include "client/eval/shard.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// What decides the answers. Two runs that are equal in all of it, and in the model, may be continued or merged.
struct EvaluationSettings {
  std::string split = "test";    // or "train"
  std::string data_digest = {};  // SHA-256 over the sorted lines "name<TAB>label number"
  std::string data_order = {};   // SHA-256 over the same lines in their order; empty in old journals
  int64_t data_pictures = 0;     // of the whole split
  int64_t limit = 0;             // 0: every picture; else how many, evenly spread
  Shard shard = {};              // the part of these that this run asks
  std::string resolution = {};   // "224x224"; empty: the model's policy
  int top_k = 5;                 // guesses kept, or all classes if there are fewer
  // data class -> class of the model, -1 where there is none.
  std::vector<int32_t> label_map = {};
};

// One process that worked on the evaluation, from its first picture to its last.
struct EvaluationSession {
  double start = 0;  // seconds since 1970
  double end = 0;    // when its last picture was known; `start` if there was none
  std::string server = {};
  int64_t pictures = 0;
};

// A data set, or a shard of one, through one version of a model: all that reports are made of.
struct Evaluation {
  v1::ModelVersion model = {};  // name, version, weights_sha256, config, provenance, labels: as the server showed it
  std::string data = {};        // "cifar10:/data", as it was given
  std::vector<std::string> data_labels = {};
  EvaluationSettings settings = {};
  std::vector<EvaluationSession> sessions = {};  // at least one, in the order of their work
  std::vector<Prediction> predictions = {};      // by rising index, each index once; missing ones were not evaluated
  int64_t expected = 0;                          // pictures that the run is to ask: predictions + missing
};

// Indices of the data set that the settings choose, rising, and how many they are.
std::vector<int64_t> ChosenPictures(const EvaluationSettings& settings);
int64_t CountChosen(const EvaluationSettings& settings);

// Reads the journal of an --out folder, finished or not. NOT_FOUND if there is none; DATA_LOSS names the line that is
// damaged.
absl::StatusOr<Evaluation> ReadEvaluation(const std::string& folder);

// Writes summary.json, predictions.csv and predictions.jsonl (docs/how-to/evaluating.md); each appears as a whole.
absl::Status WriteEvaluation(const std::string& folder, const Evaluation& evaluation);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_EVALUATION_H_
