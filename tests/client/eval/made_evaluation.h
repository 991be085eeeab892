// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_EVAL_MADE_EVALUATION_H_
#define VITRINE_TESTS_CLIENT_EVAL_MADE_EVALUATION_H_

#include <string>
#include <vector>

#include "client/eval/evaluation.h"

namespace vitrine {

// An image of MadeEvaluation: its true class, and its guesses in the order of falling probability.
struct MadeImage {
  int label = 0;
  std::vector<Guess> guesses = {};
};
// Returns an evaluation of a model "m" with the classes `labels`, which are also the classes of the data set. The
// images are named "cat/0.png" and so on, and were answered one second apart.
Evaluation MadeEvaluation(const std::vector<MadeImage>& images,
                          const std::vector<std::string>& labels = {"cat", "dog", "owl"});
// Returns "kind 0", "kind 1", ...
std::vector<std::string> MadeLabels(int count);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_EVAL_MADE_EVALUATION_H_
