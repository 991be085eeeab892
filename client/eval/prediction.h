// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PREDICTION_H_
#define VITRINE_CLIENT_EVAL_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

// Why a picture has no prediction, or that it has one.
enum class Outcome {
  kAnswered,
  kUnreadable,  // it could not be read or is no picture; it was never sent
  kUnlabelled,  // its label is none of the model's classes; it was never sent
  kRefused,     // the server said no, with `code`
};

struct Guess {
  int32_t index = 0;  // class of the model
  float probability = 0;
};

// Of the probabilities of all classes: what is left of them where only the best guesses are kept.
struct Likelihood {
  float right = 0;    // of the right class
  float squares = 0;  // sum of their squares
};

// Seconds. What the server reports per stage, and what the caller saw.
struct Stages {
  double queue = 0, decode = 0, compute = 0, encode = 0, server = 0;  // v1::Timings
  double client = 0;                                                  // from the last attempt's sending to its answer
};

// What became of one picture of an evaluation: a line of the journal and of predictions.csv.
struct Prediction {
  int64_t index = 0;       // in the whole data set, whatever the shard
  std::string name = {};   // Dataset::name as EscapedBytes writes it (data/file_names.h)
  int32_t data_label = 0;  // class of the data set
  int32_t label = -1;      // class of the model that is right; -1: kUnlabelled
  Outcome outcome = Outcome::kAnswered;
  absl::StatusCode code = absl::StatusCode::kOk;  // kRefused, kUnreadable: why
  std::string reason = {};                        // one sentence; empty if answered
  std::vector<Guess> guesses = {};                // by falling probability, at most EvaluationSettings::top_k
  std::optional<Likelihood> likelihood = {};      // nullopt: the answer did not have all classes
  std::vector<float> logits = {};                 // by class; empty unless EvalCommand::keep_logits
  int32_t tokens = 0;                             // of the picture's own grid, without prefix tokens
  int32_t attempts = 1;                           // how often it was sent
  Stages seconds = {};
  double at = 0;               // when that was known, seconds since 1970
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
