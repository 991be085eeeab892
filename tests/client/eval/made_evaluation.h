// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_EVAL_MADE_EVALUATION_H_
#define VITRINE_TESTS_CLIENT_EVAL_MADE_EVALUATION_H_

#include <string>
#include <vector>

#include "client/eval/evaluation.h"

namespace vitrine {

// An evaluation of a model "m" with the classes `labels`. Each image has a true class, and guesses by falling
// probability. Names are "cat/0.png" and so on; times are one second apart. The data set has the same classes.
struct MadeImage {
  int label = 0;
  std::vector<Guess> guesses = {};
};
Evaluation MadeEvaluation(const std::vector<MadeImage>& images,
                          const std::vector<std::string>& labels = {"cat", "dog", "owl"});
// Returns "kind 0", "kind 1", ...
std::vector<std::string> MadeLabels(int count);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_EVAL_MADE_EVALUATION_H_
