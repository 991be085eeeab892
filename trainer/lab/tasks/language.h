// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_LANGUAGE_H_
#define VITRINE_TRAINER_LAB_TASKS_LANGUAGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Makes the task to predict the next token of a text: characters of a file, or number words. The text is cut, in order,
// into training, validation and test data; validation data are the last recipe.validation_share of the training data.
// Measures the mean cross entropy per token (which selects the best state), the accuracy, and the perplexity exp(loss).
// Measurements use consecutive windows of sequence.language.context tokens and leave out an incomplete last window.
absl::StatusOr<std::unique_ptr<Task>> MakeLanguageTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                       const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_LANGUAGE_H_
