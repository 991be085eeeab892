// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PREDICTION_H_
#define VITRINE_CLIENT_EVAL_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

// Outcome of an image.
enum class Outcome {
  kAnswered,
  kUnreadable,  // could not be read or is not an image; never sent
  kUnlabelled,  // its label is not a class of the model; never sent
  kRefused,     // rejected by the server, with `code`
};

struct Guess {
  int32_t index = 0;  // class of the model
  float probability = 0;
};

// Summary of the probabilities of all classes. Prediction::guesses has only the best classes.
struct Likelihood {
  float right = 0;    // probability of the right class
  float squares = 0;  // sum of the squares of all probabilities
};

// Durations in seconds: stages reported by the server, and the client's own measurement.
struct Stages {
  double queue = 0, decode = 0, compute = 0, encode = 0, server = 0;  // from v1::Timings
  double client = 0;                                                  // from the last send to the answer
};

// Result of one image of an evaluation: a line of the journal and of predictions.csv.
struct Prediction {
  int64_t index = 0;       // index in the whole data set, not in a shard of it
  std::string name = {};   // Dataset::name, escaped by EscapedBytes (common/data/file_names.h)
  int32_t data_label = 0;  // class of the data set
  int32_t label = -1;      // true class in the model; -1: kUnlabelled
  Outcome outcome = Outcome::kAnswered;
  absl::StatusCode code = absl::StatusCode::kOk;  // error of kRefused and kUnreadable
  std::string reason = {};                        // one sentence; empty if answered
  std::vector<Guess> guesses = {};                // by descending probability, at most EvaluationSettings::top_k
  std::optional<Likelihood> likelihood = {};      // nullopt: the answer lacked some classes
  std::vector<float> logits = {};                 // per class; empty without EvalCommand::keep_logits
  int32_t tokens = 0;                             // tokens of the image's grid, without prefix tokens
  int32_t attempts = 1;                           // number of times the image was sent
  Stages seconds = {};
  double at = 0;               // time of the result, seconds since 1970
  std::string served_by = {};  // "fp32 cpu"; empty unless answered
  bool correct() const { return !guesses.empty() && guesses.front().index == label; }
  bool InTop(size_t k) const {
    for (size_t i = 0; i < guesses.size() && i < k; ++i) {
      if (guesses[i].index == label) return true;
    }
    return false;
  }
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PREDICTION_H_
