// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_EVALUATION_H_
#define VITRINE_CLIENT_EVAL_EVALUATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/eval/prediction.h"
#include "common/shard.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Settings that determine the answers. A run continues a journal only if the journal has the same settings and model.
// Merged runs may differ only in `shard`.
struct EvaluationSettings {
  std::string split = "test";    // or "train"
  std::string data_digest = {};  // SHA-256 over the sorted lines "name<TAB>label number"
  std::string data_order = {};   // SHA-256 over the same lines in data set order
  int64_t data_images = 0;       // number of images in the whole split
  int64_t limit = 0;             // number of images, evenly spread; 0: every image
  Shard shard = {};              // shard of the chosen images that this run evaluates
  std::string resolution = {};   // "224x224"; empty: the model's policy
  int top_k = 5;                 // number of predictions kept per image; all classes if there are fewer
  // The class of the model for each class of the data; -1: the model has no such class.
  std::vector<int32_t> label_map = {};
};

// One process that worked on the evaluation.
struct EvaluationSession {
  double start = 0;  // seconds since 1970
  double end = 0;    // time of its last image, or `start` if it had none
  std::string server = {};
  int64_t images = 0;
};

// Evaluation of a data set, or of a shard, by one version of a model. All reports are made from it.
struct Evaluation {
  v1::ModelVersion model = {};  // name, version, weights_sha256, config, provenance, labels: as sent by the server
  std::string data = {};        // "cifar10:/data", as given
  std::vector<std::string> data_labels = {};
  EvaluationSettings settings = {};
  std::vector<EvaluationSession> sessions = {};  // in the order of the journal
  // results by ascending index, at most one per index; an image without a result has no entry
  std::vector<Prediction> predictions = {};
  int64_t expected = 0;  // number of images to evaluate in this run, with or without a result
};

// Returns the indices of the images that the settings select, ascending. CountChosen returns their number.
std::vector<int64_t> ChosenImages(const EvaluationSettings& settings);
int64_t CountChosen(const EvaluationSettings& settings);
// Returns the number of images within --limit, before the division into shards.
int64_t WithinLimit(const EvaluationSettings& settings);

// Reads the journal of an --out folder, whether the run has finished or not. NOT_FOUND: there is no journal. DATA_LOSS:
// a line is damaged; the message names it.
absl::StatusOr<Evaluation> ReadEvaluation(const std::string& folder);

// Writes summary.json, predictions.csv and predictions.jsonl (docs/how-to/evaluating.md). Each file is replaced
// atomically.
absl::Status WriteEvaluation(const std::string& folder, const Evaluation& evaluation);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_EVALUATION_H_
